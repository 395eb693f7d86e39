const colours: Record<string, number> = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 35 };

/** Formats a log entry as one readable line. Only stack frames get lines of their own. */
export function formatPretty(entry: Readonly<Record<string, unknown>>, coloured: boolean): string {
  const { level, time, msg, ...fields } = entry;
  const label = String(level).toUpperCase().padEnd(5);
  const head = [
    String(time).slice(11, 23),
    coloured ? `\u001b[${colours[String(level)] ?? 0}m${label}\u001b[0m` : label,
    escapeControls(typeof msg === 'string' ? msg : ''),
  ];
  const frames: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    head.push(`${escapeControls(name)}=${escapeControls(JSON.stringify(withoutStack(value, frames)))}`);
  }
  return [head.join(' '), ...frames].map((line) => `${line}\n`).join('');
}

function withoutStack(value: unknown, frames: string[]): unknown {
  if (typeof value !== 'object' || value === null || !('stack' in value)) return value;
  const { stack, ...rest } = value;
  const lines = String(stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  frames.push(...lines.map((line) => `    ${escapeControls(line.trim())}`));
  return rest;
}

/** Control characters could forge lines or control the terminal; JSON does not escape those above 0x7e. */
function escapeControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (character) =>
    character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
