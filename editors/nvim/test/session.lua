-- A session that a person could have, without a screen: `nvim --headless -u NONE -n -S session.lua FILE`, with the program in
-- `ANKUS` and this plug-in's folder in `ANKUS_NVIM`. Says `ok WHAT` for each part that came out, and `not ok` with the reason.

vim.opt.runtimepath:prepend(vim.env.ANKUS_NVIM)
vim.cmd('filetype on')

local failed = false
local function say(good, what, detail)
  failed = failed or not good
  io.stdout:write((good and 'ok ' or 'not ok ') .. what .. (good and '' or ': ' .. vim.inspect(detail)) .. '\n')
end

local function wait(what, is)
  return vim.wait(20000, is, 20) or error(what)
end

local function request(method, parameters)
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, parameters, 20000) or {}) do
    if answer.result and answer.result ~= vim.NIL then
      return answer.result
    end
    if answer.error then
      return nil, answer.error.message
    end
  end
end

local function put_cursor(text, offset)
  vim.fn.cursor(1, 1)
  local line = vim.fn.search('\\V' .. text, 'cW')
  assert(line > 0, 'no ' .. text)
  local column = vim.fn.col('.') + (offset or 0)
  vim.fn.cursor(line, column)
  return line, column
end

local function run()
  require('ankus').setup({ cmd = { vim.env.ANKUS } })
  vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.ANKUS_FILE))
  vim.bo.filetype = 'xml'
  wait('no server', function()
    local client = vim.lsp.buf_get_clients(0)[1] or select(2, next(vim.lsp.buf_get_clients(0)))
    return client and client.initialized
  end)
  say(true, 'starts')

  -- An unsaved change, which only the editor knows of.
  put_cursor('to="clean"')
  vim.cmd([[s/to="clean"/to="cleam"/]])
  wait('no diagnostics', function()
    return #vim.diagnostic.get(0) > 0
  end)
  local seen
  for _, found in ipairs(vim.diagnostic.get(0)) do
    seen = seen or (found.message:find('cleam', 1, true) and found)
  end
  say(seen ~= nil and seen.source == 'ankus', 'diagnostics', vim.diagnostic.get(0))
  vim.cmd([[s/to="cleam"/to=""/]])
  put_cursor('start to=""', #'start to="')
  local position = vim.lsp.util.make_position_params()
  local list = request('textDocument/completion', position) or {}
  local labels = {}
  for _, item in ipairs(list.items or list) do
    labels[item.label] = true
  end
  say(labels['clean'] and labels['report'], 'completes a node', labels)
  vim.cmd([[s/start to=""/start to="clean"/]])
  wait('diagnostics stay', function()
    return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0
  end)
  say(true, 'diagnostics go')

  put_cursor('to="clean"', #'to="')
  local definition = request('textDocument/definition', vim.lsp.util.make_position_params())
  local place = definition and (definition[1] or definition)
  local range = place and (place.targetSelectionRange or place.range)
  local line = range and vim.fn.getline(range.start.line + 1) or ''
  say(line:find('<action name="clean">', 1, true) ~= nil, 'goes to a definition', definition)

  local hover = request('textDocument/hover', vim.lsp.util.make_position_params())
  say(hover ~= nil and vim.inspect(hover.contents):find('clean', 1, true) ~= nil, 'hovers', hover)

  vim.lsp.buf.rename('tidy')
  wait('not renamed', function()
    return vim.fn.search([[\V<action name="tidy">]], 'nw') > 0
  end)
  say(vim.fn.search([[\Vstart to="tidy"]], 'nw') > 0 and vim.fn.search([[\V"clean"]], 'nw') == 0, 'renames', vim.fn.getline(1, '$'))

  local symbols = request('textDocument/documentSymbol', { textDocument = vim.lsp.util.make_text_document_params() })
  say(symbols ~= nil and vim.inspect(symbols):find('tidy', 1, true) ~= nil, 'lists symbols', symbols)

  local picture = request('ankus/graph', { textDocument = vim.lsp.util.make_text_document_params() })
  say(picture ~= nil and picture.svg:find('data-node="tidy"', 1, true) ~= nil, 'draws', picture)
end

local fine, problem = pcall(run)
if not fine then
  say(false, 'session', problem)
end
vim.cmd(failed and 'cquit!' or 'qall!')
