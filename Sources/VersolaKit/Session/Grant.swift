// SPDX-License-Identifier: Apache-2.0

/// What the provider gave us, as it is kept: one record, replaced as a whole by one rename.
struct Grant: Codable, Equatable, Sendable {
    /// Rises with every login stored, not with a refresh.
    var generation: Int64
    var refreshToken: String?
    /// The verified ID token of the login or of the latest refresh that brought one, as received.
    var idToken: String
    /// The granted scope, space-separated; as asked for when the answer did not say.
    var scope: String
    /// The login's claims that a refreshed ID token is compared with.
    var login: LoginClaims
    /// Only with the sealed cache.
    var accessToken: AccessToken?

    /// Whether it is a grant still: a refresh token, or an access token that has not expired (behaviour §1).
    func isUsable(_ time: some TimeSource) -> Bool {
        refreshToken != nil || accessToken?.isAlive(time) == true
    }
}

/// The claims of a login's ID token that later ID tokens must repeat (OpenID Connect Core §12.2).
struct LoginClaims: Codable, Equatable, Sendable {
    var issuer: String
    var subject: String
    var audience: [String]
    var authorizedParty: String?
    var nonce: String?
    /// Seconds since 1970.
    var authTime: Int64?
}

/// An access token and when it ends, counted from receipt on the boot-time clock.
struct AccessToken: Codable, Equatable, Sendable {
    var value: String
    /// As received, "Bearer" for any spelling of it.
    var type: String
    var scope: String
    var receivedAt: Moment
    /// Absent: usable until a 401.
    var lifetimeMillis: Int64?

    /// Real expiry, no leeway. A receipt in the future, by a wall clock put back after a reboot, counts as expired.
    func isAlive(_ time: some TimeSource) -> Bool {
        guard let lifetimeMillis else { return true }
        let age = receivedAt.age(time)
        return age >= 0 && age < lifetimeMillis
    }
}

/// A point in time that survives the process: exact within one boot, by the wall clock after it.
struct Moment: Codable, Equatable, Sendable {
    var bootID: String
    var boot: BootMillis
    var wall: WallMillis

    init(_ time: some TimeSource) {
        bootID = time.bootID
        boot = time.boot
        wall = time.wall
    }

    /// How long ago it was; negative when it lies in the future (behaviour §2, PendingRequestExpired).
    func age(_ time: some TimeSource) -> Int64 {
        let (age, overflow) =
            bootID == time.bootID
            ? time.boot.subtractingReportingOverflow(boot) : time.wall.subtractingReportingOverflow(wall)
        return overflow ? -1 : age
    }
}
