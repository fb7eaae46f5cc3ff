autocmd BufRead,BufNewFile *.tsl setfiletype tsl
