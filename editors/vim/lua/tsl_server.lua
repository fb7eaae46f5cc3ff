-- Attaches Neovim's client of language servers to the buffer. Neovim 0.8 and later share the server between buffers by themselves.
local M = {}
local client

function M.attach()
  local config = {
    name = "tsl",
    cmd = { vim.g.tsl_path or "tsl", "lsp" },
    root_dir = vim.fn.getcwd(),
    on_exit = function() client = nil end,
    on_attach = function(_, buffer)  -- Neovim 0.10 and later show the types of variables
      if vim.lsp.inlay_hint then vim.lsp.inlay_hint.enable(true, { bufnr = buffer }) end
    end,
  }
  if vim.lsp.start then return vim.lsp.start(config) end
  client = client or vim.lsp.start_client(config)
  if client then vim.lsp.buf_attach_client(0, client) end
  vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
end

return M
