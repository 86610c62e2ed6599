// SPDX-License-Identifier: Apache-2.0

/// What outlives a session.
struct StoreCounters: Codable, Equatable, Sendable {
    /// Logouts so far.
    var epoch: Int64 = 0
    /// The highest generation of any grant erased so far.
    var generation: Int64 = 0

    /// Far from overflow. What lies outside was not counted by us.
    static let plausible: ClosedRange<Int64> = 0...(1 << 53)

    /// After the erasure of a grant of `generation`.
    func afterErasing(generation: Int64?, isLogout: Bool) -> StoreCounters {
        let erased = generation.flatMap { Self.plausible.contains($0) ? $0 : nil } ?? 0
        return StoreCounters(epoch: epoch + (isLogout ? 1 : 0), generation: max(self.generation, erased))
    }
}
