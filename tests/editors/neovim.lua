-- Runs in Neovim after a.tsl is open, and leaves it. See neovim.sh.
local function wait_until(what, happens)
  assert(vim.wait(30000, happens, 20), what)
end

local function request(method, line, character, more)
  local place = vim.tbl_extend("force", {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    position = { line = line, character = character },
  }, more or {})
  local answers = assert(vim.lsp.buf_request_sync(0, method, place, 30000))
  for _, answer in pairs(answers) do
    assert(not answer.err, vim.inspect(answer.err))
    return answer.result
  end
end

local function lines() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") end

local function check()
  assert(vim.bo.filetype == "tsl", "the type of the file")
  assert(vim.fn.synIDattr(vim.fn.synID(1, 1, 1), "name") == "tslKeyword", "colours")
  wait_until("the first diagnostic", function() return #vim.diagnostic.get(0) == 1 end)
  local found = vim.diagnostic.get(0)[1]
  assert(found.message:find("unknown name 'lenn'", 1, true) and found.lnum == 1 and found.col == 7, vim.inspect(found))

  vim.api.nvim_buf_set_text(0, 1, 7, 1, 11, { "len" })
  wait_until("no diagnostic after the edit", function() return #vim.diagnostic.get(0) == 0 end)
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { "# ä𝄞", "let s = \"𝄞\" + nothing_there" })
  wait_until("a diagnostic behind wide characters", function() return #vim.diagnostic.get(0) == 1 end)
  assert(vim.diagnostic.get(0)[1].col == 17, vim.inspect(vim.diagnostic.get(0)))
  vim.api.nvim_buf_set_lines(0, 0, 2, false, {})

  assert(request("textDocument/hover", 1, 8).contents.value:find("len(", 1, true), "hover")
  assert(#request("textDocument/completion", 1, 15).items > 0, "completion")
  vim.lsp.util.apply_workspace_edit(request("textDocument/rename", 0, 5, { newName = "items_of_it" }), "utf-16")
  vim.lsp.util.apply_text_edits(request("textDocument/formatting", 0, 0, { options = { tabSize = 2 } }), 0, "utf-16")
  assert(lines() == "let items_of_it = [1, 2]\nprint(len(items_of_it))", lines())
  wait_until("no diagnostic at the end", function() return #vim.diagnostic.get(0) == 0 end)
end

local worked, problem = pcall(check)
io.stdout:write(worked and "all of it works\n" or tostring(problem) .. "\n")
vim.cmd("qa!")
