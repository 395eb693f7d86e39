import { findMembers, type Usage } from '../../kernel';
import { type ResponseKind, correctUsage, type UsageLocation } from '../../protocol';
import type { StreamEdit } from './stream-edits';

const nothing = Buffer.alloc(0);
const CLOSING_BRACE = 0x7d;
const LINE_FEED = 0x0a;
const SPACE = 0x20;

interface UsageEdit extends UsageLocation {
  readonly edit: StreamEdit;
  readonly original: Buffer;
}

export class FinalUsage {
  private readonly list: UsageEdit[] = [];

  constructor(private readonly form: ResponseKind) {}

  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  reserve(json: Buffer, usagePlace: UsageLocation): StreamEdit[] {
    const ranges = findMembers(json, ...usagePlace.path, 'usage');
    if (ranges.length === 0) {
      const end = json.lastIndexOf(CLOSING_BRACE, findMembers(json, ...usagePlace.path)[0]!.end - 1);
      ranges.push({ start: end, end });
    }
    return ranges.map((range) => {
      const edit = { ...range, text: nothing };
      this.list.push({ ...usagePlace, edit, original: joinLines(json.subarray(range.start, range.end)) });
      return edit;
    });
  }

  /** Writes the charged usage. Reported usage that agrees with the charge keeps its bytes. */
  write(usage: Usage): void {
    for (const { edit, original, received: told, reported: held } of this.list) {
      const repairedUsage = correctUsage(this.form, held && told, usage, held);
      if (repairedUsage === null) edit.text = original;
      else
        edit.text = Buffer.from(
          `${original.length === 0 ? ',"usage":' : ''}${JSON.stringify(repairedUsage)}`,
        );
    }
  }
}

/** Line breaks within JSON text are only white space. */
function joinLines(json: Buffer): Buffer {
  const line = Buffer.from(json);
  for (let index = line.indexOf(LINE_FEED); index !== -1; index = line.indexOf(LINE_FEED, index))
    line[index] = SPACE;
  return line;
}
