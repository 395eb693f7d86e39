import type { TextPiece } from '#extension';
import { findMembers, parseJsonText } from '../../kernel';
import { isRecord } from '../../protocol';
import type { GatewayCall } from './describe';

type TextRole = TextPiece['role'];
type TextKind = TextPiece['kind'];
type TextPath = readonly (string | number)[];

export interface PlacedText {
  readonly piece: TextPiece;
  readonly path: TextPath;
  /**
   * `json`: the path holds an object, and the text is its JSON. `signed`: the block can only be removed; `name`: a
   * schema name, which cannot be changed.
   */
  readonly as: 'text' | 'json' | 'signed' | 'name';
}

interface Speaker {
  readonly role: TextRole;
  readonly kind: TextKind;
}

const system: Speaker = { role: 'system', kind: 'text' };
const user: Speaker = { role: 'user', kind: 'text' };
const assistant: Speaker = { role: 'assistant', kind: 'text' };
const toolCall: Speaker = { role: 'assistant', kind: 'arguments' };
const result: Speaker = { role: 'tool', kind: 'result' };
const definition: Speaker = { role: 'system', kind: 'definition' };

const speakersByRole: Readonly<Record<string, Speaker>> = {
  system,
  developer: system,
  user,
  assistant,
  tool: result,
  function: result,
};

const speakersByField: Readonly<Record<string, Speaker>> = {
  system,
  instructions: system,
  messages: user,
  input: user,
  prompt: user,
  suffix: user,
  query: user,
  documents: user,
  prediction: assistant,
};

const definitionFields: ReadonlySet<string> = new Set([
  'tools',
  'functions',
  'response_format',
  'text',
  'output_config',
  'output_format',
]);

const nonTextFields: ReadonlySet<string> = new Set([
  ...['type', 'role', 'id', 'name', 'tool_name', 'namespace', 'model', 'status', 'phase', 'version'],
  ...['data', 'file_data', 'url', 'image_url', 'file_url', 'video_url', 'media_type', 'mime_type'],
  ...['format', 'detail', 'cache_control', 'logprobs', 'encrypted_content', 'encrypted_index'],
]);

const isNonText = (name: string): boolean =>
  nonTextFields.has(name) || name.endsWith('_id') || name.endsWith('signature');

const textFields: ReadonlySet<string> = new Set(['description', 'server_description', 'title', 'definition']);
const sampleFields: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'example',
  'examples',
  'input_examples',
]);

/** Schema fields whose own keys are names chosen by the caller. */
const namedSchemaFields: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

export function textsOf({ inbound, unknown }: GatewayCall): readonly PlacedText[] {
  const { body, bytes, form, isRounded } = inbound;
  const collector = new TextCollector(isRounded ? bytes : null);
  if (form !== null) {
    collector.addValue(body.prompt, ['prompt'], user);
    return collector.texts;
  }
  for (const name of Object.keys(body)) {
    const speaker = speakersByField[name] ?? (unknown.fields.includes(name) ? user : undefined);
    if (speaker !== undefined) collector.addValue(body[name], [name], speaker);
    else if (definitionFields.has(name)) collector.addDefinition(body[name], [name]);
  }
  return collector.texts;
}

class TextCollector {
  readonly texts: PlacedText[] = [];

  constructor(
    /** Raw bytes of the body, if parsing rounded one of its numbers. */
    private readonly rawBytes: Buffer | null,
  ) {}

  addValue(value: unknown, path: TextPath, speaker: Speaker): void {
    if (typeof value === 'string') this.add(value, path, speaker);
    else if (Array.isArray(value))
      value.forEach((item: unknown, index) => this.addValue(item, [...path, index], speaker));
    else if (isRecord(value)) this.addBlock(value, path, speaker);
  }

  /** Adds the texts of schemas and tools and the names of properties, but not validation rules. */
  addDefinition(value: unknown, path: TextPath): void {
    if (Array.isArray(value)) {
      value.forEach((item: unknown, index) => this.addDefinition(item, [...path, index]));
    } else if (isRecord(value)) {
      for (const [name, inner] of Object.entries(value)) {
        const isSample = sampleFields.has(name) && !isRecord(inner);
        if (isSample || (textFields.has(name) && typeof inner === 'string'))
          this.addAll(inner, [...path, name], definition);
        else if (namedSchemaFields.has(name) && isRecord(inner)) this.addNamedSchemas(inner, [...path, name]);
        else this.addDefinition(inner, [...path, name]);
      }
    }
  }

  private addNamedSchemas(schemas: Readonly<Record<string, unknown>>, path: TextPath): void {
    for (const [name, schema] of Object.entries(schemas)) {
      this.add(name, [...path, name], definition, 'name');
      this.addDefinition(schema, [...path, name]);
    }
  }

  private addBlock(block: Readonly<Record<string, unknown>>, path: TextPath, outer: Speaker): void {
    const { type, role, thinking, signature } = block;
    if (typeof thinking === 'string' && typeof signature === 'string' && signature !== '')
      return this.add(thinking, path, assistant, 'signed');
    const speaker = (typeof role === 'string' ? speakersByRole[role] : speakerOf(type)) ?? outer;
    for (const [name, value] of Object.entries(block)) {
      const inner = [...path, name];
      if (name === 'source' && isRecord(value)) this.addSource(value, inner, speaker);
      else if (path[0] === 'documents') this.addAll(value, inner, speaker);
      else if (name === 'variables' && isRecord(value)) this.addVariables(value, inner, speaker);
      else if (isNonText(name)) continue;
      else if (name === 'tools') this.addDefinition(value, inner);
      else if (isCallInput(name, value)) this.addCall(value, inner);
      else
        this.addValue(
          value,
          inner,
          name === 'output' || name === 'outputs' || name === 'results' ? result : speaker,
        );
    }
  }

  private addSource(source: Readonly<Record<string, unknown>>, path: TextPath, speaker: Speaker): void {
    if (source.type === 'text') this.addValue(source.data, [...path, 'data'], speaker);
    else this.addValue(source.content, [...path, 'content'], speaker);
  }

  private addVariables(variables: Readonly<Record<string, unknown>>, path: TextPath, speaker: Speaker): void {
    for (const [name, value] of Object.entries(variables)) this.addValue(value, [...path, name], speaker);
  }

  private addAll(value: unknown, path: TextPath, speaker: Speaker): void {
    if (typeof value === 'string') this.add(value, path, speaker);
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value))
        this.addAll(inner, [...path, Array.isArray(value) ? Number(name) : name], speaker);
  }

  private addCall(value: unknown, path: TextPath): void {
    if (typeof value === 'string') this.add(unescapedJson(value), path, toolCall);
    else this.add(unescapedJson(this.jsonOf(value, path)), path, toolCall, 'json');
  }

  private jsonOf(value: unknown, path: TextPath): string {
    const [range] = this.rawBytes === null ? [] : findMembers(this.rawBytes, ...path);
    if (range === undefined) return JSON.stringify(value);
    return this.rawBytes!.toString('utf8', range.start, range.end);
  }

  private add(text: string, path: TextPath, { role, kind }: Speaker, as: PlacedText['as'] = 'text'): void {
    if (text !== '') this.texts.push({ piece: Object.freeze({ role, kind, text }), path, as });
  }
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/g;

/**
 * Decodes `\uXXXX` escapes in JSON, so that a gate matches a word however it was escaped. Mandatory escapes stay, and
 * text that is not JSON is returned unchanged.
 */
function unescapedJson(text: string): string {
  if (!/\\[u/]/.test(text) || !isJson(text)) return text;
  return text.replaceAll(ESCAPE, (match: string, hex?: string, escaped?: string) => {
    if (escaped === '/') return '/';
    if (hex === undefined) return match;
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return mustStayEscaped(character) ? match : character;
  });
}

/** JSON requires escapes for quotes, backslashes and control characters; a lone surrogate is not a character. */
const mustStayEscaped = (character: string): boolean =>
  character < ' ' ||
  character === '"' ||
  character === '\\' ||
  (character >= '\ud800' && character <= '\udfff');

function isJson(text: string): boolean {
  try {
    parseJsonText(text);
    return true;
  } catch {
    return false;
  }
}

/** Speaker of a block without a role; undefined if the enclosing block decides. */
function speakerOf(type: unknown): Speaker | undefined {
  if (typeof type !== 'string') return undefined;
  if (type.endsWith('tool_result') || type.endsWith('_output')) return result;
  return type === 'reasoning' || type.endsWith('_call') || type.endsWith('tool_use') ? assistant : undefined;
}

const isCallInput = (name: string, value: unknown): boolean =>
  (name === 'arguments' || name === 'input' || name === 'action' || name === 'operation') &&
  (typeof value === 'string' || isRecord(value));
