// SPDX-License-Identifier: Apache-2.0

/// How the page looks: one quiet card, light or dark as the person has it, every pair of colours at least AA (WCAG 2.2
/// §1.4.3). No font is loaded and nothing moves.
enum ResultPageStyle {
    static let css = """

        :root {
          color-scheme: light dark;
          --ground: #f4f5f7; --card: #ffffff; --edge: #e2e5ea; --ink: #1a1d21; --soft: #565e69;
          --good: #1a7f43; --bad: #b4500b; --calm: #4a5fc1;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #121417; --card: #1c1f24; --edge: #2c3138; --ink: #eef0f3; --soft: #a9b1bc;
            --good: #58c983; --bad: #f2a15e; --calm: #9dacf5;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; min-height: 100vh; min-height: 100dvh; padding: 1.5rem;
          display: grid; place-items: center;
          background: var(--ground); color: var(--ink);
          font: 1.0625rem/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif;
        }
        main {
          width: 100%; max-width: 27rem; padding: 2.75rem 2.25rem 3rem;
          background: var(--card); border: 1px solid var(--edge); border-radius: 1rem; text-align: center;
        }
        svg { display: block; width: 3.5rem; height: 3.5rem; margin: 0 auto 1.5rem; }
        .good { color: var(--good); }
        .bad { color: var(--bad); }
        .calm { color: var(--calm); }
        h1 {
          margin: 0 0 .625rem; font-size: 1.5rem; font-weight: 600; line-height: 1.25; letter-spacing: -.01em;
          text-wrap: balance;
        }
        p { margin: 0; color: var(--soft); text-wrap: balance; }

        """

    /// Of ``css``, base64: what the page's policy names (CSP Level 3 §2.3.1). A test computes it again.
    static let sha256 = "IeSRvXjevd6xRb70v72zwjQTOH094ILUnWXKPZUfxoI="
}
