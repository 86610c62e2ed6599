// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CVersola
import VersolaKit

/// The numbers of a retry policy while they are set one by one; the whole is checked when a client is made.
struct RetryNumbers {
    var maxAttemptsPerOrigin: Int
    var maxTotalAttempts: Int
    var initialBackoffMillis: Int64
    var multiplier: Double
    var maxBackoffMillis: Int64
    var totalBudgetMillis: Int64

    init?(preset: Int32) {
        switch preset {
        case VERSOLA_RETRY_DEFAULT.number: self.init(.default)
        case VERSOLA_RETRY_CONSERVATIVE.number: self.init(.conservative)
        case VERSOLA_RETRY_PATIENT.number: self.init(.patient)
        default: return nil
        }
    }

    init(_ policy: RetryPolicy) {
        maxAttemptsPerOrigin = policy.maxAttemptsPerOrigin
        maxTotalAttempts = policy.maxTotalAttempts
        initialBackoffMillis = policy.initialBackoffMillis
        multiplier = policy.backoffMultiplier
        maxBackoffMillis = policy.maxBackoffMillis
        totalBudgetMillis = policy.totalBudgetMillis
    }

    func policy() throws(OAuthError) -> RetryPolicy {
        try RetryPolicy(
            maxAttemptsPerOrigin: maxAttemptsPerOrigin, maxTotalAttempts: maxTotalAttempts,
            initialBackoff: Double(initialBackoffMillis) / 1000, backoffMultiplier: multiplier,
            maxBackoff: Double(maxBackoffMillis) / 1000, totalBudget: Double(totalBudgetMillis) / 1000)
    }
}

/// Sets one number, if it is in its range.
private func set<Number: Comparable>(
    _ config: OpaquePointer?, _ field: WritableKeyPath<RetryNumbers, Number>, _ value: Number,
    in range: ClosedRange<Number>, _ name: String
) -> Int32 {
    set(config) { (config: Config) throws(OAuthError) in
        try RetryPolicy.check(name, value, in: range)
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
    set(
        config, \.maxAttemptsPerOrigin, Int(attempts), in: RetryPolicy.Range.attemptsPerOrigin,
        "max_attempts_per_origin")
}

@implementation @_cdecl("versola_config_set_max_total_attempts")
public func versola_config_set_max_total_attempts(_ config: OpaquePointer?, _ attempts: Int32) -> Int32 {
    set(config, \.maxTotalAttempts, Int(attempts), in: RetryPolicy.Range.totalAttempts, "max_total_attempts")
}

@implementation @_cdecl("versola_config_set_initial_backoff_ms")
public func versola_config_set_initial_backoff_ms(_ config: OpaquePointer?, _ backoff_ms: Int64) -> Int32 {
    set(config, \.initialBackoffMillis, backoff_ms, in: RetryPolicy.Range.backoffMillis, "initial_backoff_ms")
}

@implementation @_cdecl("versola_config_set_backoff_multiplier_permille")
public func versola_config_set_backoff_multiplier_permille(_ config: OpaquePointer?, _ multiplier: Int32) -> Int32 {
    set(
        config, \.multiplier, Double(multiplier) / 1000, in: RetryPolicy.Range.multiplier,
        "backoff_multiplier_permille / 1000")
}

@implementation @_cdecl("versola_config_set_max_backoff_ms")
public func versola_config_set_max_backoff_ms(_ config: OpaquePointer?, _ backoff_ms: Int64) -> Int32 {
    set(config, \.maxBackoffMillis, backoff_ms, in: RetryPolicy.Range.backoffMillis, "max_backoff_ms")
}

@implementation @_cdecl("versola_config_set_total_budget_ms")
public func versola_config_set_total_budget_ms(_ config: OpaquePointer?, _ budget_ms: Int64) -> Int32 {
    set(config, \.totalBudgetMillis, budget_ms, in: RetryPolicy.Range.budgetMillis, "total_budget_ms")
}
