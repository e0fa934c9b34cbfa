-- Starts `ankus lsp` for Oozie definitions and adds the commands that its code lenses name.

local M = {}

-- The server looks at the root element of a text and is silent about XML that is not Oozie's.
local FILETYPES = { 'xml', 'jproperties', 'conf', 'toml' }
local MARKERS = { 'ankus.toml', '.git' }

local options = { cmd = { 'ankus' } }

local function command(arguments)
  local all = {}
  vim.list_extend(all, options.cmd)
  vim.list_extend(all, arguments)
  return all
end

-- The nearest folder that has one of the markers, else the folder of the file; nil for a buffer without a file.
local function root_of(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == '' then
    return nil
  end
  local folder = vim.fn.fnamemodify(name, ':p:h')
  local above = folder
  while true do
    for _, marker in ipairs(MARKERS) do
      local path = above .. '/' .. marker
      if vim.fn.filereadable(path) == 1 or vim.fn.isdirectory(path) == 1 then
        return above
      end
    end
    local next_above = vim.fn.fnamemodify(above, ':h')
    if next_above == above then
      return folder
    end
    above = next_above
  end
end

local function client_of(buffer)
  local get = vim.lsp.get_clients
  if get then
    return get({ bufnr = buffer, name = 'ankus' })[1]
  end
  for _, client in pairs(vim.lsp.buf_get_clients(buffer)) do
    if client.name == 'ankus' then
      return client
    end
  end
end

local function path_of(lens)
  local argument = lens and lens.arguments and lens.arguments[1]
  if type(argument) == 'string' then
    return vim.uri_to_fname(argument)
  end
  return vim.api.nvim_buf_get_name(0)
end

-- Runs `ankus` in a terminal below. No shell reads the path.
local function terminal(verb, lens)
  local path = path_of(lens)
  vim.cmd('silent! update')
  vim.cmd('botright 15new')
  vim.fn.termopen(command({ verb, path }))
end

-- Writes a picture to a file and opens it with the viewer of the desktop. Where the file is named, it is written anew at
-- each change, for viewers that follow a file.
local function picture(kind, file)
  local buffer = vim.api.nvim_get_current_buf()
  local target = (file and file ~= '') and vim.fn.fnamemodify(file, ':p') or (vim.fn.tempname() .. '.svg')
  local function draw(after)
    local client = client_of(buffer)
    if not client then
      vim.notify('ankus: no language server is attached to this buffer', vim.log.levels.WARN)
      return
    end
    local parameters = { textDocument = vim.lsp.util.make_text_document_params(buffer) }
    client.request('ankus/' .. kind, parameters, function(problem, answer)
      if problem then
        vim.notify('ankus: ' .. problem.message, vim.log.levels.WARN)
      elseif not answer or answer == vim.NIL then
        vim.notify('ankus: there is no ' .. kind .. ' of this text', vim.log.levels.INFO)
      else
        vim.fn.writefile(vim.split(answer.svg, '\n'), target)
        if after then
          after()
        end
      end
    end, buffer)
  end
  draw(function()
    if file and file ~= '' then
      vim.notify('ankus: ' .. target)
    elseif vim.ui.open then
      vim.ui.open(target)
    else
      vim.fn.jobstart({ 'xdg-open', target }, { detach = true })
    end
  end)
  if file and file ~= '' then
    vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
      buffer = buffer,
      callback = function()
        draw()
      end,
    })
  end
end

local function add_commands()
  for _, verb in ipairs({ 'run', 'test' }) do
    vim.lsp.commands['ankus.' .. verb] = function(lens)
      terminal(verb, lens)
    end
  end
  for _, kind in ipairs({ 'graph', 'timeline' }) do
    vim.lsp.commands['ankus.' .. kind] = function()
      picture(kind)
    end
    local name = 'Ankus' .. kind:sub(1, 1):upper() .. kind:sub(2)
    vim.api.nvim_create_user_command(name, function(given)
      picture(kind, given.args)
    end, { nargs = '?', complete = 'file', desc = 'Show the ' .. kind .. ' of this definition' })
  end
end

--- What `vim.lsp.config` and `vim.lsp.start_client` take.
function M.config()
  return {
    name = 'ankus',
    cmd = command({ 'lsp' }),
    filetypes = FILETYPES,
    root_markers = MARKERS,
  }
end

-- One server for each root, as newer versions of Neovim have it. `vim.lsp` does not name those that are still starting.
local started = {}

local function attach(buffer)
  local root = root_of(buffer)
  local key = root or ''
  if not started[key] then
    local config = M.config()
    config.root_dir = root
    config.on_exit = function()
      started[key] = nil
    end
    started[key] = vim.lsp.start_client(config)
  end
  if started[key] then
    vim.lsp.buf_attach_client(buffer, started[key])
  end
end

--- Starts the server for the buffers that are open and those to come. `cmd` is the program, `{ 'ankus' }` if not given.
function M.setup(given)
  options = vim.tbl_extend('force', options, given or {})
  add_commands()
  if vim.lsp.config and vim.lsp.enable then
    vim.lsp.config('ankus', M.config())
    vim.lsp.enable('ankus')
    return
  end
  local group = vim.api.nvim_create_augroup('ankus', { clear = true })
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = FILETYPES,
    callback = function(event)
      -- Neovim 0.7 hands over the number under this name alone.
      attach(event.buf)
    end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.tbl_contains(FILETYPES, vim.bo[buffer].filetype) then
      attach(buffer)
    end
  end
end

return M
