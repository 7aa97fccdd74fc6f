// SPDX-License-Identifier: Apache-2.0
// Questions that a confined program asks the process that runs it, for descriptors that it may not
// open itself. A question and its answer are one message each on a SOCK_SEQPACKET socket.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace base {

// The program's descriptor for questions.
inline constexpr int kQuestionFd = 3;
// Limits, in bytes.
inline constexpr size_t kMaxQuestion = 64;
inline constexpr size_t kMaxAnswer = 1024;

struct Answer {
  Fd fd = {};             // what was asked for; invalid: nothing
  std::string text = {};  // cut at kMaxAnswer
};

// Answers a question of a program that may be hostile. Returns in a time that the caller can spare.
using Serve = std::function<Answer(std::string_view question)>;

// Asks QUESTION on SOCKET and waits for the answer. Returns kInternal if the other side has gone.
Result<Answer> ask(int socket, std::string_view question);

// Answers one question that is waiting on SOCKET. Never waits for the other side. Returns false if
// that has gone, or asks without taking the answers.
bool answer_one(int socket, const Serve& serve);

}  // namespace base
