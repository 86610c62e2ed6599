// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

/// The numbers of a retry policy while they are set one by one; the whole is checked when a client is made.
struct RetryNumbers {
    var maxAttemptsPerOrigin: Int32 = 3
    var maxTotalAttempts: Int32 = 4
    var initialBackoffMillis: Int64 = 500
    var multiplierPermille: Int32 = 2_000
    var maxBackoffMillis: Int64 = 8_000
    var totalBudgetMillis: Int64 = 20_000

    init() {}

    init?(preset: Int32) {
        switch preset {
        case VERSOLA_RETRY_DEFAULT.number: self.init()
        case VERSOLA_RETRY_CONSERVATIVE.number: self.init(.conservative)
        case VERSOLA_RETRY_PATIENT.number: self.init(.patient)
        default: return nil
        }
    }

    private init(_ policy: RetryPolicy) {
        maxAttemptsPerOrigin = Int32(policy.maxAttemptsPerOrigin)
        maxTotalAttempts = Int32(policy.maxTotalAttempts)
        initialBackoffMillis = policy.initialBackoffMillis
        multiplierPermille = Int32(policy.backoffMultiplier * 1000)
        maxBackoffMillis = policy.maxBackoffMillis
        totalBudgetMillis = policy.totalBudgetMillis
    }

    func policy() throws(OAuthError) -> RetryPolicy {
        try RetryPolicy(
            maxAttemptsPerOrigin: Int(maxAttemptsPerOrigin), maxTotalAttempts: Int(maxTotalAttempts),
            initialBackoff: Double(initialBackoffMillis) / 1000, backoffMultiplier: Double(multiplierPermille) / 1000,
            maxBackoff: Double(maxBackoffMillis) / 1000, totalBudget: Double(totalBudgetMillis) / 1000)
    }
}

/// Sets one number, if it is in its range.
private func set<Number: Comparable>(
    _ config: OpaquePointer?, _ field: WritableKeyPath<RetryNumbers, Number>, _ value: Number,
    in range: ClosedRange<Number>, _ name: String
) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        guard range.contains(value) else {
            throw invalid("retry policy: \(name) must be \(range.lowerBound) to \(range.upperBound)")
        }
        config.retry[keyPath: field] = value
    }
}

@implementation @_cdecl("versola_config_set_retry_preset")
public func versola_config_set_retry_preset(_ config: OpaquePointer?, _ preset: Int32) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        guard let numbers = RetryNumbers(preset: preset) else {
            throw invalid("retry policy: there is no preset \(preset)")
        }
        config.retry = numbers
    }
}

@implementation @_cdecl("versola_config_set_max_attempts_per_origin")
public func versola_config_set_max_attempts_per_origin(_ config: OpaquePointer?, _ attempts: Int32) -> Int32 {
    set(config, \.maxAttemptsPerOrigin, attempts, in: 1...5, "max_attempts_per_origin")
}

@implementation @_cdecl("versola_config_set_max_total_attempts")
public func versola_config_set_max_total_attempts(_ config: OpaquePointer?, _ attempts: Int32) -> Int32 {
    set(config, \.maxTotalAttempts, attempts, in: 1...8, "max_total_attempts")
}

@implementation @_cdecl("versola_config_set_initial_backoff_ms")
public func versola_config_set_initial_backoff_ms(_ config: OpaquePointer?, _ backoff_ms: Int64) -> Int32 {
    set(config, \.initialBackoffMillis, backoff_ms, in: 1...30_000, "initial_backoff_ms")
}

@implementation @_cdecl("versola_config_set_backoff_multiplier_permille")
public func versola_config_set_backoff_multiplier_permille(_ config: OpaquePointer?, _ multiplier: Int32) -> Int32 {
    set(config, \.multiplierPermille, multiplier, in: 1_000...10_000, "backoff_multiplier_permille")
}

@implementation @_cdecl("versola_config_set_max_backoff_ms")
public func versola_config_set_max_backoff_ms(_ config: OpaquePointer?, _ backoff_ms: Int64) -> Int32 {
    set(config, \.maxBackoffMillis, backoff_ms, in: 1...30_000, "max_backoff_ms")
}

@implementation @_cdecl("versola_config_set_total_budget_ms")
public func versola_config_set_total_budget_ms(_ config: OpaquePointer?, _ budget_ms: Int64) -> Int32 {
    set(config, \.totalBudgetMillis, budget_ms, in: 1...60_000, "total_budget_ms")
}
