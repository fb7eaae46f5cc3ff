// The arguments of exchanges over peer memory, as host and device read them.
#pragma once

namespace tsl::cuda::peers {

inline constexpr int kMostPeers = 15;  // of a rank
inline constexpr int kThreads = 512;
inline constexpr int kSlots = 4;                                             // of a channel: chunks on their way
inline constexpr unsigned long long kMostChunk = 65536, kLeastChunk = 8192;  // bytes; a slot has room for the first

/// A count of chunks that another GPU writes, far from others in memory.
struct alignas(32) Flag {
  unsigned count;
};

/// What passes between this rank and another one. A piece is cut into chunks, which take the channels by turns.
struct Pair {
  const char* sent;
  char* received;
  unsigned long long sent_bytes, received_bytes;
  unsigned long long sent_chunk, received_chunk;  // bytes of a chunk
  char* there;                                    // this rank's slots in the other's memory
  const char* here;                               // the other's slots in this rank's memory
  Flag *arrived_there, *arrived_here;             // of each channel: chunks that have been written to slots
  Flag *taken_there, *taken_here;                 // of each channel: chunks that have been read from slots
  unsigned *sent_chunks, *received_chunks;        // of each channel: chunks so far, which only this rank counts
};

/// Of exchanges.
struct Arguments {
  Pair pairs[kMostPeers];
  int count;             // of pairs
  int channels, used;    // of a pair; those that have chunks, each of which has a block for either direction
  const char* own_sent;  // what this rank sends to itself, which blocks behind those of the pairs copy
  char* own_received;
  unsigned long long own_bytes;
  const volatile unsigned* cut;  // in host memory: not 0 once nobody is to wait any more
};

inline constexpr int kSumPacks = 4 * kThreads;  // of 16 bytes, in a chunk
inline constexpr int kMostSumBlocks = 256;

/// Of sums. A block has two slots of two chunks each, so that a rank stages the next one while others read.
struct SumArguments {
  const void* from;
  void* to;
  unsigned long long count;           // elements
  char* areas[kMostPeers + 1];        // of each rank: the slots of its blocks
  Flag* flags_there[kMostPeers + 1];  // in each rank's memory: what this rank's blocks tell it
  Flag* flags_here[kMostPeers + 1];   // what each rank's blocks tell this one
  unsigned* rounds;                   // of each block: what it has told last
  int rank, size;
  int is_shared;                 // whether each rank adds a part up
  const volatile unsigned* cut;  // as of exchanges
};

}  // namespace tsl::cuda::peers
