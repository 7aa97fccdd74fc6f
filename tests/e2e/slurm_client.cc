// SPDX-License-Identifier: Apache-2.0
// A client of Slurm that is not Slurm's own: submits a batch script with these entries for the
// environment of the prolog, as no option of sbatch can. Prints the job's number. It is built by
// slurm_licences.bats, because it needs libslurm-dev.
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

#include <cstdio>

int main(int count, char** entries) {
  char script[] = "#!/bin/sh\njq .ipus /run/ipu/lease.json\n";
  char path[] = "PATH=/usr/bin:/bin";
  char folder[4096];
  char* environment[] = {path};
  job_desc_msg_t job;
  slurm_init_job_desc_msg(&job);
  job.script = script;
  job.environment = environment;
  job.env_size = 1;
  job.user_id = getuid();
  job.group_id = getgid();
  job.work_dir = getcwd(folder, sizeof folder);
  job.spank_job_env = entries + 1;
  job.spank_job_env_size = static_cast<uint32_t>(count - 1);
  submit_response_msg_t* answer = nullptr;
  if (slurm_submit_batch_job(&job, &answer) != 0) {
    const char* const why = answer != nullptr ? answer->job_submit_user_msg : nullptr;
    std::fprintf(stderr, "%s: %s\n", slurm_strerror(slurm_get_errno()), why != nullptr ? why : "");
    return 1;
  }
  std::printf("%u\n", answer->job_id);
  slurm_free_submit_response_response_msg(answer);
  return 0;
}
