import { StreamReader } from '../stream-reader';
import { readGeminiFinish } from './finish';
import { GeminiReader } from './read-parts';
import { geminiWrittenFields } from './written-fields';

/** Every event has the shape of a complete response; the stream has no terminator. */
export class GeminiStreamDecoder extends StreamReader {
  protected override readonly written = geminiWrittenFields;
  private readonly reader = new GeminiReader(this.emission, this.tally);

  protected override holdsWritten(): boolean {
    return true;
  }

  protected readEvent(event: Record<string, unknown>): void {
    const failure = this.reader.read(event);
    if (failure) this.emission.fault(failure);
  }

  protected override endWithoutTerminator(): boolean {
    const { rawFinish: finished } = this.reader;
    if (finished === undefined) return false;
    this.succeed(readGeminiFinish(finished));
    return true;
  }
}
