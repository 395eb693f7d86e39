import { type Fault } from '../../kernel';
import { argumentsText, type Emission, type JsonObject, type Tally } from '../canonical';
import { brokenStream } from '../stream-reader';

type OpenBlock = { readonly kind: 'prose' | 'other' } | { readonly kind: 'tool'; readonly handle: number };

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Reads content blocks: in pieces from a stream, or all at once from a complete response. */
export class BlockReader {
  private readonly openBlocks = new Map<number, OpenBlock>();

  constructor(
    private readonly emission: Emission,
    private readonly tally: Tally,
  ) {}

  start(index: number, block: JsonObject): void {
    this.openBlocks.set(index, this.openBlock(block));
  }

  delta(index: number, delta: JsonObject): Fault | undefined {
    const block = this.openBlocks.get(index);
    if (!block) return brokenStream('A piece of a content block came before the block.');
    switch (delta.type) {
      case 'text_delta':
        this.emission.text(text(delta.text));
        break;
      case 'thinking_delta':
        this.emission.reasoning(text(delta.thinking));
        break;
      case 'signature_delta':
        if (text(delta.signature) !== '') this.emission.signature('messages', text(delta.signature));
        break;
      case 'input_json_delta':
        if (block.kind === 'tool') this.emission.toolArguments(block.handle, text(delta.partial_json));
        break;
      case 'citations_delta':
        this.emission.citation('messages', delta.citation);
        break;
      default:
        this.tally.dropped(`content.${index}`, `a piece of the type ${String(delta.type)}`);
    }
    return undefined;
  }

  stop(index: number): Fault | undefined {
    const block = this.openBlocks.get(index);
    if (!block) return brokenStream('A content block ended before it began.');
    this.openBlocks.delete(index);
    if (block.kind === 'tool') this.emission.closeTool(block.handle);
    else if (block.kind === 'prose') this.emission.closeProse();
    return undefined;
  }

  private openBlock(block: JsonObject): OpenBlock {
    switch (block.type) {
      case 'text':
        this.emission.text(text(block.text));
        if (Array.isArray(block.citations)) {
          block.citations.forEach((value) => this.emission.citation('messages', value));
        }
        return { kind: 'prose' };
      case 'thinking':
        this.emission.reasoning(text(block.thinking));
        if (text(block.signature) !== '') this.emission.signature('messages', text(block.signature));
        return { kind: 'prose' };
      case 'redacted_thinking':
        this.emission.signature('messages', text(block.data), true);
        return { kind: 'prose' };
      case 'tool_use': {
        const handle = this.emission.openTool(text(block.id), text(block.name));
        // Empty in a stream, where the pieces follow.
        const input = argumentsText(block.input) ?? '{}';
        if (input !== '{}') this.emission.toolArguments(handle, input);
        return { kind: 'tool', handle };
      }
      default:
        this.tally.dropped('content', `a block of the type ${String(block.type)}`);
        return { kind: 'other' };
    }
  }
}
