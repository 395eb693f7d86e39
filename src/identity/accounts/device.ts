/** The first match counts, because most browsers also call themselves Chrome or Safari. */
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

const MAX_PROGRAM_LENGTH = 60;

interface Device {
  readonly program: string | null;
  readonly system: string | null;
}

export function deviceOf(userAgent: string | null | undefined): Device {
  const text = userAgent ?? '';
  const programName = text.split(/[\s/(]/)[0]?.slice(0, MAX_PROGRAM_LENGTH) ?? '';
  return {
    program: firstMatch(browsers, text) ?? (programName === '' ? null : programName),
    system: firstMatch(systems, text),
  };
}

export function deviceName(userAgent: string | null | undefined): string | undefined {
  const { program, system } = deviceOf(userAgent);
  return [program, system].filter((part) => part !== null).join(', ') || undefined;
}

const firstMatch = (names: typeof browsers, text: string): string | null =>
  names.find(([pattern]) => pattern.test(text))?.[1] ?? null;
