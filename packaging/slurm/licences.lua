-- SPDX-License-Identifier: Apache-2.0
-- For job_submit.lua of Slurm: each job with --ipus takes a licence for each of its IPUs, no more and no fewer. The names of fields are those of slurm_job_submit(); versions 5.1 to 5.4 of Lua read this file.
--
--   local ipu = dofile("/usr/local/share/ipu-container-toolkit/slurm/licences.lua")
--   function slurm_job_submit(job, partitions, user) return ipu.submit(job) end
--   function slurm_job_modify(job, record, partitions, user) return ipu.modify(job, record, user) end

local LICENCE = "ipu"
-- How slurmctld knows an option of the plugin spank_ipu.so. A node puts SPANK_ before a name that does not begin with it.
local OPTION = "_SLURM_SPANK_OPTION_ipu_ipus="
-- Of slurm.h: a state is a base in the low byte, and flags.
local PENDING = 0
local COMPLETING = 0x8000
local LONGEST = 1024 -- No list of licences is longer. Slurm looks at its length after this file does.

local function is_given(number) return number ~= nil and number ~= slurm.NO_VAL end

-- Returns the number of --ipus, or nil without the option, and then what is wrong with it.
local function ipus_of(job)
  local value
  for _, given in pairs(job.spank_job_env or {}) do
    local entry = string.gsub(given, "^SPANK_", "")
    if string.sub(entry, 1, #OPTION) == OPTION then
      if value then return nil, "--ipus is given twice" end
      value = string.sub(entry, #OPTION + 1)
    end
  end
  if not value then return nil end
  local number = string.find(value, "^[1-9]%d?%d?%d?$") and tonumber(value)
  if not number or number > 4096 then return nil, "--ipus is a number from 1 to 4096" end
  return number
end

-- Gives the job one number of nodes. Returns it, or nil and what is wrong.
local function fix_nodes(job, ipus)
  local least = is_given(job.min_nodes) and job.min_nodes or 1
  local most = is_given(job.max_nodes) and job.max_nodes or nil
  if not most and (not is_given(job.num_tasks) or job.num_tasks <= 1) then most = least end
  if least ~= most or least < 1 then
    return nil, string.format("--ipus=%d counts for each node: give the job one number of nodes, by --nodes=N", ipus)
  end
  job.min_nodes = least
  job.max_nodes = least
  return least
end

-- Returns the list of licences with COUNT of ours, and how many of ours it had: nil for none. A number that Slurm might read
-- otherwise counts as one that nobody has, such as +4, for which Slurm has a signed number.
local function with_ours(licences, count)
  local all, had = {}, nil
  for entry in string.gmatch(licences or "", "[^,;]+") do
    local name, rest = string.match(entry, "^%s*([^:*%s]+)(.-)%s*$")
    if name == LICENCE then
      local number = rest == "" and 1 or tonumber(string.match(rest, "^:(%d+)$"))
      had = (had or 0) + (number or math.huge)
    else
      table.insert(all, entry)
    end
  end
  table.insert(all, string.format("%s:%d", LICENCE, count))
  return table.concat(all, ","), had
end

-- Has the job take the licences of its IPUs. ASKED: those that its user gives, or nil. Returns what is wrong, if anything.
local function take(job, ipus, nodes, asked, old)
  local count = ipus * nodes
  if #(asked or "") > LONGEST then return "--licenses is too long" end
  if string.find(asked or "", "|", 1, true) then return "a job with --ipus takes no licences by '|': separate them by ','" end
  local licences, had = with_ours(asked or old, count)
  if asked and had and had ~= count then
    return string.format("the job takes the licences %s:%d: give no others of them by --licenses", LICENCE, count)
  end
  job.licenses = licences
end

-- Says what is wrong, if anything, by LOG. Returns what Slurm does.
local function result(wrong, log)
  if not wrong then return slurm.SUCCESS end
  log("%s", "ipu: " .. wrong)
  return slurm.ESLURM_INVALID_LICENSES or slurm.ERROR
end

-- Returns CHECK such that a fault in it refuses the job. Slurm would accept it.
local function guarded(check)
  return function(...)
    local is_done, code = pcall(check, ...)
    if is_done then return code end
    slurm.log_error("%s", "ipu: " .. tostring(code))
    return slurm.ERROR
  end
end

-- A job is submitted.
local function submit(job)
  if not job then error("call submit() with the first parameter of slurm_job_submit()", 0) end
  local ipus, wrong = ipus_of(job)
  if not ipus then return result(wrong, slurm.log_user) end
  local nodes
  nodes, wrong = fix_nodes(job, ipus)
  return result(wrong or take(job, ipus, nodes, job.licenses), slurm.log_user)
end

-- Returns what is wrong with a change of the job RECORD. Slurm gives back the licences of the record at the end of a run, also
-- when the job is requeued and pends by then.
local function change(job, record, ipus, has_nodes)
  if math.floor(record.job_state / COMPLETING) % 2 == 1 then return "the last run of the job has not ended: try again" end
  if record.job_state % 256 ~= PENDING then
    return job.licenses and "the licences of a job that has begun stay as they are"
  end
  local nodes, wrong = record.min_nodes, nil
  if has_nodes then nodes, wrong = fix_nodes(job, ipus) end
  return wrong or take(job, ipus, nodes, job.licenses, record.licenses)
end

-- The user with this number changes a job. Root may do so as Slurm allows. scontrol shows the meaning of the error's number
-- alone.
local function modify(job, record, user)
  if not job or not record then error("call modify() with the parameters 1, 2 and 4 of slurm_job_modify()", 0) end
  local ipus = ipus_of(record)
  local has_nodes = is_given(job.min_nodes) or is_given(job.max_nodes)
  if user == 0 or not ipus or not has_nodes and job.licenses == nil then return slurm.SUCCESS end
  return result(change(job, record, ipus, has_nodes), slurm.log_info)
end

return { submit = guarded(submit), modify = guarded(modify) }
