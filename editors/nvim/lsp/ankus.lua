-- What Neovim 0.11 and newer reads for `vim.lsp.enable('ankus')`.
return require('ankus').config()
