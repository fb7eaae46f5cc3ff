" How TSL is written: two blanks, comments with #.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s comments=:##,:# expandtab shiftwidth=2 softtabstop=2
let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop<"

" Neovim has a client of language servers. g:tsl_path is the program, if it is not in the PATH; g:tsl_lsp = 0 starts no server.
if has("nvim") && get(g:, "tsl_lsp", 1) && executable(get(g:, "tsl_path", "tsl"))
  lua require("tsl_server").attach()
endif
