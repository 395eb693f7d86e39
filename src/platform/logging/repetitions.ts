export type LogEntry = Readonly<Record<string, unknown>>;

/** Repetitions are counted for so long before a line tells them. */
const WINDOW_MS = 10_000;
/** The bound on failures that are watched at one time; a further one ends the watch of the oldest. */
const MOST_FAILURES = 200;

interface Watched {
  /** The entry has what stays the same in every repetition. */
  readonly entry: LogEntry;
  count: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Writes a failure once with its stack. The same failure is then counted, and told without its stack every
 * ten seconds for as long as it goes on. A full disk fails thousands of statements, all for one reason.
 */
export class Repetitions {
  private readonly watched = new Map<string, Watched>();

  constructor(private readonly write: (entry: LogEntry) => void) {}

  take(entry: LogEntry): void {
    const failure = failureIn(entry);
    if (failure === null) return this.write(entry);
    const known = this.watched.get(failure);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    this.write(entry);
    const [oldest] = this.watched.keys();
    if (this.watched.size >= MOST_FAILURES && oldest !== undefined) this.end(oldest);
    const timer = setTimeout(() => this.windowOver(failure), WINDOW_MS).unref();
    this.watched.set(failure, { entry: sameInAll(entry), count: 0, timer });
  }

  /** Tells what has been counted so far: the process is about to end. */
  flush(): void {
    for (const failure of this.watched.keys()) this.end(failure);
  }

  private windowOver(failure: string): void {
    const known = this.watched.get(failure);
    if (known === undefined) return;
    if (known.count === 0) return this.end(failure);
    this.tell(known);
    known.timer.refresh();
  }

  private end(failure: string): void {
    const known = this.watched.get(failure);
    if (known === undefined) return;
    clearTimeout(known.timer);
    this.watched.delete(failure);
    if (known.count > 0) this.tell(known);
  }

  private tell(known: Watched): void {
    const { entry, count } = known;
    known.count = 0;
    const often = `repeated ${count} ${count === 1 ? 'time' : 'times'} in the last ${WINDOW_MS / 1_000} s`;
    const { level, msg, ...fields } = entry;
    this.write({
      level,
      time: new Date().toISOString(),
      ...fields,
      repeated: count,
      msg: `${String(msg)}: ${often}`,
    });
  }
}

/** Entries with the same text are the same failure; null where one has no stack, or is the last of its process. */
function failureIn(entry: LogEntry): string | null {
  const { level, context, msg, error } = entry;
  if (level === 'fatal' || typeof error !== 'object' || error === null) return null;
  const { type, code, message, stack } = error as LogEntry;
  if (typeof stack !== 'string') return null;
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const part = Object.values(partOf(entry));
  return [level, context, plain(msg), type, code ?? plain(message), ...part, ...frames]
    .map(String)
    .join('\n');
}

/** Numbers and ids differ from one repetition to the next. */
const plain = (text: unknown): string => String(text).replaceAll(/[0-9a-f-]*\d[0-9a-f-]*/gi, '#');

/** Each part of an extension is told by its name, also where several fail for one reason. */
const partOf = ({ extension, job, gate }: LogEntry): LogEntry =>
  extension === undefined ? { gate } : { extension, job, gate };

const sameInAll = (entry: LogEntry): LogEntry => {
  const { level, context, msg, error } = entry;
  const { type, code, message } = error as LogEntry;
  return { level, context, msg, ...partOf(entry), error: { type, code, message } };
};
