import { findMembers, type Usage } from '../../kernel';
import { type AnswerForm, mendedUsage, type UsagePlace } from '../../protocol';
import type { Edit } from './edits';

const nothing = Buffer.alloc(0);
const CLOSING_BRACE = 0x7d;
const LINE_FEED = 0x0a;
const SPACE = 0x20;

interface Told extends UsagePlace {
  readonly edit: Edit;
  /** These bytes stand there now. */
  readonly original: Buffer;
}

/** The usage in the last events of a stream: it is written when it is known what is charged. */
export class ToldUsage {
  private readonly list: Told[] = [];

  constructor(private readonly form: AnswerForm) {}

  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  /** The edits that hold it until then, of the JSON text of one event. */
  place(json: Buffer, at: UsagePlace): Edit[] {
    const places = findMembers(json, ...at.path, 'usage');
    if (places.length === 0) {
      const end = json.lastIndexOf(CLOSING_BRACE, findMembers(json, ...at.path)[0]!.end - 1);
      places.push({ start: end, end });
    }
    return places.map((place) => {
      const edit = { ...place, text: nothing };
      this.list.push({ ...at, edit, original: onOneLine(json.subarray(place.start, place.end)) });
      return edit;
    });
  }

  /** Usage that says the same as the bill keeps its bytes. */
  write(usage: Usage): void {
    for (const { edit, original, told, held } of this.list) {
      const mended = mendedUsage(this.form, held && told, usage, held);
      if (mended === null) edit.text = original;
      else edit.text = Buffer.from(`${original.length === 0 ? ',"usage":' : ''}${JSON.stringify(mended)}`);
    }
  }
}

/** Between the lines of a JSON text there is nothing but space. */
function onOneLine(json: Buffer): Buffer {
  const line = Buffer.from(json);
  for (let at = line.indexOf(LINE_FEED); at !== -1; at = line.indexOf(LINE_FEED, at)) line[at] = SPACE;
  return line;
}
