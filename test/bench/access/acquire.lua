-- Acquires alone, for wrk. Two files give further headers: one line a request (each once), and one
-- line a caller (in turn).
dofile('test/bench/wrk.lua')
local key, path
local signed, callers = {}, {}
local at = 0

local function read(file, lines)
  for line in io.lines(file) do lines[#lines + 1] = line:gsub('|', '\r\n') .. '\r\n' end
end

function init(args)
  key = args[1]
  path = args[2]
  if args[3] then
    read(args[3], signed)
    read(args[4], callers)
  end
end

function request()
  at = at + 1
  local caller = #callers > 0 and callers[at % #callers + 1] or ''
  return 'POST ' .. path .. ' HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Nthpool-Key: ' .. key ..
    '\r\n' .. (signed[at] or '') .. caller .. 'Content-Length: 0\r\n\r\n'
end

function response(status)
  if status ~= 200 then bad = bad + 1 end
end
