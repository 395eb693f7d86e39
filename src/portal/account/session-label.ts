import type { Translate } from '../../views';

/** Named by the first that fits: most browsers also call themselves Chrome or Safari. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(HeadlessChrome|Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bMac ?OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const MOST = 60;

/** `Firefox on Linux`; a program by its own name. */
export function sessionLabel(userAgent: string | null, translate: Translate): string {
  const text = userAgent ?? '';
  const browser = named(browsers, text);
  const system = named(systems, text);
  if (browser !== null && system !== null) return translate('settings.session-label', { browser, system });
  const program = browser ?? text.split(/[\s/(]/)[0]?.slice(0, MOST) ?? '';
  return program === '' ? translate('settings.session-unknown') : program;
}

const named = (names: typeof browsers, text: string): string | null =>
  names.find(([pattern]) => pattern.test(text))?.[1] ?? null;
