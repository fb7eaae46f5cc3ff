// An NCCL for the driver that computes nothing, whose memory is the host's: it passes bytes between processes of one
// host by sockets, at once, whatever the stream. NULL_NCCL_VERSION=21000 makes it another version (default
// 22700: 2.27.0).
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Id {
  char bytes[128];
};

/// One end of the connections with all other ranks.
struct Communicator {
  std::vector<int> sockets;  // by rank; -1: none
  bool is_aborted = false;
};

struct Call {
  Communicator* communicator;
  char* data;
  size_t bytes;
  int rank;
  bool is_sent;
};
std::vector<Call> calls;  // of the open group

constexpr int kSuccess = 0, kFailed = 2;

sockaddr_un address_of(const Id& id, int rank) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s-%d", id.bytes, rank);  // abstract: no file
  return address;
}

bool pass(const Call& call) {
  const int socket = call.communicator->sockets[static_cast<size_t>(call.rank)];
  for (size_t done = 0; done < call.bytes;) {
    const ssize_t n = call.is_sent ? send(socket, call.data + done, call.bytes - done, MSG_NOSIGNAL)
                                   : recv(socket, call.data + done, call.bytes - done, 0);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

int connect_to(const Id& id, int rank, int own) {
  const sockaddr_un address = address_of(id, rank);
  const int other = socket(AF_UNIX, SOCK_STREAM, 0);
  while (connect(other, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) usleep(1000);
  if (send(other, &own, sizeof own, MSG_NOSIGNAL) < 0) return -1;
  return other;
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  const char* const given = getenv("NULL_NCCL_VERSION");
  return *version = given ? atoi(given) : 22700, kSuccess;
}
const char* ncclGetErrorString(int) { return "a rank has gone"; }

int ncclGetUniqueId(Id* id) {
  snprintf(id->bytes, sizeof id->bytes, "null-nccl-%d", getpid());
  return kSuccess;
}

int ncclCommInitRank(Communicator** made, int ranks, Id id, int rank) {
  const char* const multicast = getenv("NCCL_NVLS_ENABLE");
  if (!multicast || strcmp(multicast, "0") != 0) return kFailed;
  auto* const out = *made = new Communicator;
  out->sockets.assign(static_cast<size_t>(ranks), -1);
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un address = address_of(id, rank);
  if (bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listening, ranks) != 0)
    return kFailed;
  for (int other = 0; other < rank; ++other) out->sockets[static_cast<size_t>(other)] = connect_to(id, other, rank);
  for (int more = rank + 1; more < ranks; ++more) {
    const int accepted = accept(listening, nullptr, nullptr);
    int other = 0;
    if (recv(accepted, &other, sizeof other, MSG_WAITALL) != sizeof other) return kFailed;
    out->sockets[static_cast<size_t>(other)] = accepted;
  }
  close(listening);
  return kSuccess;
}

int ncclCommAbort(Communicator* communicator) {
  communicator->is_aborted = true;
  for (const int socket : communicator->sockets) {
    if (socket >= 0) shutdown(socket, SHUT_RDWR);
  }
  return kSuccess;
}
int ncclCommGetAsyncError(Communicator*, int* result) { return *result = kSuccess, kSuccess; }

int ncclSend(const void* from, size_t count, int, int to, Communicator* communicator, void*) {
  calls.push_back({communicator, static_cast<char*>(const_cast<void*>(from)), count, to, true});
  return kSuccess;
}
int ncclRecv(void* to, size_t count, int, int from, Communicator* communicator, void*) {
  calls.push_back({communicator, static_cast<char*>(to), count, from, false});
  return kSuccess;
}

int ncclGroupStart() { return kSuccess; }
int ncclGroupEnd() {
  std::vector<std::thread> threads;
  std::vector<char> passed(calls.size(), 0);
  for (size_t i = 0; i < calls.size(); ++i) threads.emplace_back([&, i] { passed[i] = pass(calls[i]) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  calls.clear();
  for (const char each : passed) {
    if (each == 0) return kFailed;
  }
  return kSuccess;
}
}
