/** The first that fits names it: most browsers also call themselves Chrome or Safari. */
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

/** A session was opened with this, as far as its user agent tells. */
interface Device {
  /** A program that is no browser has its own name here. */
  readonly program: string | null;
  readonly system: string | null;
}

export function deviceOf(userAgent: string | null | undefined): Device {
  const text = userAgent ?? '';
  const own = text.split(/[\s/(]/)[0]?.slice(0, MOST) ?? '';
  return { program: named(browsers, text) ?? (own === '' ? null : own), system: named(systems, text) };
}

/** The name is in no language, for records: `Firefox, Linux`. */
export function deviceName(userAgent: string | null | undefined): string | undefined {
  const { program, system } = deviceOf(userAgent);
  return [program, system].filter((part) => part !== null).join(', ') || undefined;
}

const named = (names: typeof browsers, text: string): string | null =>
  names.find(([pattern]) => pattern.test(text))?.[1] ?? null;
