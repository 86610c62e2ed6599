// SPDX-License-Identifier: Apache-2.0

/// What the page says: what happened, and what to do now. For people, so no word of protocols, codes or tokens; and free of
/// characters that HTML would need escaped.
struct ResultPageText: Equatable, Sendable {
    var title: String
    var advice: String

    init(_ answer: ListenerAnswer, _ language: PageLanguage) {
        let (title, advice) =
            switch language {
            case .english: Self.english(answer)
            case .russian: Self.russian(answer)
            }
        self.title = title
        self.advice = advice
    }

    private static func english(_ answer: ListenerAnswer) -> (String, String) {
        switch answer {
        case .result(.signedIn):
            ("You are signed in", "You can close this window and return to the app.")
        case .result(.signedOut):
            ("You are signed out", "You can close this window.")
        case .result(.denied):
            ("Sign-in was declined", "To try again, return to the app and start signing in once more.")
        case .result(.failed):
            ("Sign-in did not work", "Return to the app and try again.")
        case .result(.replaced):
            (
                "A newer sign-in has begun",
                "This page belongs to an earlier attempt. Continue in the newest window, or start again from the app."
            )
        case .result(.alreadyUsed):
            ("This sign-in is already over", "You can close this window and return to the app.")
        case .result(.pending):
            ("Almost there", "The app is still finishing the sign-in. Return to the app to see how it went.")
        case .refusal:
            (
                "There is nothing here",
                "This address only takes part in signing in. If you were signing in, return to the app and try again."
            )
        }
    }

    private static func russian(_ answer: ListenerAnswer) -> (String, String) {
        switch answer {
        case .result(.signedIn):
            ("Вы вошли", "Это окно можно закрыть и вернуться в приложение.")
        case .result(.signedOut):
            ("Вы вышли", "Это окно можно закрыть.")
        case .result(.denied):
            ("Вход отклонён", "Чтобы попробовать ещё раз, вернитесь в приложение и начните вход заново.")
        case .result(.failed):
            ("Войти не удалось", "Вернитесь в приложение и попробуйте ещё раз.")
        case .result(.replaced):
            (
                "Вход начат заново",
                "Эта страница осталась от прошлой попытки. Продолжайте в новом окне или начните вход в приложении ещё раз."
            )
        case .result(.alreadyUsed):
            ("Этот вход уже завершён", "Это окно можно закрыть и вернуться в приложение.")
        case .result(.pending):
            ("Ещё немного", "Приложение завершает вход. Вернитесь в него, чтобы увидеть результат.")
        case .refusal:
            (
                "Здесь ничего нет",
                "Этот адрес нужен только для входа. Если вы входили в приложение, вернитесь в него и попробуйте ещё раз."
            )
        }
    }
}
