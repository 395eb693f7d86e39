const colours: Record<string, number> = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 35 };

/** One log entry as a line for people. Only stack frames get lines of their own; a value never does. */
export function pretty(entry: Readonly<Record<string, unknown>>, coloured: boolean): string {
  const { level, time, msg, ...fields } = entry;
  const label = String(level).toUpperCase().padEnd(5);
  const head = [
    String(time).slice(11, 23),
    coloured ? `\u001b[${colours[String(level)] ?? 0}m${label}\u001b[0m` : label,
    visible(typeof msg === 'string' ? msg : ''),
  ];
  const frames: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    head.push(`${visible(name)}=${visible(JSON.stringify(withoutStack(value, frames)))}`);
  }
  return [head.join(' '), ...frames].map((line) => `${line}\n`).join('');
}

function withoutStack(value: unknown, frames: string[]): unknown {
  if (typeof value !== 'object' || value === null || !('stack' in value)) return value;
  const { stack, ...rest } = value;
  const lines = String(stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  frames.push(...lines.map((line) => `    ${visible(line.trim())}`));
  return rest;
}

/** Control characters could forge lines or drive the terminal; JSON leaves those above 0x7e alone. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (character) =>
    character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
