import { StreamReader } from '../stream-reader';
import { readGeminiFinish } from './finish';
import { GeminiReader } from './read-parts';
import { writtenInGemini } from './written';

/** Each event is a piece of an answer in the shape of a whole one; the stream ends by ending. */
export class GeminiStreamDecoder extends StreamReader {
  protected override readonly written = writtenInGemini;
  private readonly reader = new GeminiReader(this.emission, this.tally);

  protected override holdsWritten(): boolean {
    return true;
  }

  protected readEvent(event: Record<string, unknown>): void {
    const failure = this.reader.read(event);
    if (failure) this.emission.fault(failure);
  }

  protected override endWithoutTerminator(): boolean {
    const { finished } = this.reader;
    if (finished === undefined) return false;
    this.succeed(readGeminiFinish(finished));
    return true;
  }
}
