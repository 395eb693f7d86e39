import type { TextPiece } from '#extension';
import { findMembers, parseJsonText } from '../../kernel';
import { isRecord } from '../../protocol';
import type { Call } from './describe';

type Role = TextPiece['role'];
type Kind = TextPiece['kind'];
type Path = readonly (string | number)[];

/** A text of a request, and where its value stands in the body. */
export interface PlacedText {
  readonly piece: TextPiece;
  readonly path: Path;
  /**
   * An object stands there as its JSON; a signed block cannot be changed and is left out whole; a name of a schema
   * cannot be changed at all.
   */
  readonly as: 'text' | 'json' | 'signed' | 'name';
}

interface Speaker {
  readonly role: Role;
  readonly kind: Kind;
}

const system: Speaker = { role: 'system', kind: 'text' };
const user: Speaker = { role: 'user', kind: 'text' };
const assistant: Speaker = { role: 'assistant', kind: 'text' };
const called: Speaker = { role: 'assistant', kind: 'arguments' };
const result: Speaker = { role: 'tool', kind: 'result' };
const definition: Speaker = { role: 'system', kind: 'definition' };

const speakers: Readonly<Record<string, Speaker>> = {
  system,
  developer: system,
  user,
  assistant,
  tool: result,
  function: result,
};

/** The fields of a body, of any operation, that hold what its supplier reads. */
const asked: Readonly<Record<string, Speaker>> = {
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

const defining: ReadonlySet<string> = new Set([
  'tools',
  'functions',
  'response_format',
  'text',
  'output_config',
  'output_format',
]);

/** Strings under these names, in what is said, are marks and media. */
const marks: ReadonlySet<string> = new Set([
  ...['type', 'role', 'id', 'name', 'tool_name', 'namespace', 'model', 'status', 'phase', 'version'],
  ...['data', 'file_data', 'url', 'image_url', 'file_url', 'video_url', 'media_type', 'mime_type'],
  ...['format', 'detail', 'cache_control', 'logprobs', 'encrypted_content', 'encrypted_index'],
]);

const isMark = (name: string): boolean =>
  marks.has(name) || name.endsWith('_id') || name.endsWith('signature');

const words: ReadonlySet<string> = new Set(['description', 'server_description', 'title', 'definition']);
const samples: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'example',
  'examples',
  'input_examples',
]);

/** Fields of a schema whose own fields have names of the caller's choice. */
const naming: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

/** Every text that a supplier reads, in the order of the body. Unknown fields and blocks are looked through as well. */
export function textsOf({ inbound, unknown }: Call): readonly PlacedText[] {
  const { body, bytes, form, isRounded } = inbound;
  const texts = new Texts(isRounded ? bytes : null);
  if (form !== null) {
    texts.say(body.prompt, ['prompt'], user);
    return texts.found;
  }
  for (const name of Object.keys(body)) {
    const speaker = asked[name] ?? (unknown.fields.includes(name) ? user : undefined);
    if (speaker !== undefined) texts.say(body[name], [name], speaker);
    else if (defining.has(name)) texts.define(body[name], [name]);
  }
  return texts.found;
}

class Texts {
  readonly found: PlacedText[] = [];

  constructor(
    /** The body's own bytes, where a double changed a number of it. */
    private readonly written: Buffer | null,
  ) {}

  /** A text, or a block, or a list of them. */
  say(value: unknown, path: Path, speaker: Speaker): void {
    if (typeof value === 'string') this.add(value, path, speaker);
    else if (Array.isArray(value))
      value.forEach((item: unknown, place) => this.say(item, [...path, place], speaker));
    else if (isRecord(value)) this.sayBlock(value, path, speaker);
  }

  /** The words of schemas and tools, and the names of properties; rules are none. */
  define(value: unknown, path: Path): void {
    if (Array.isArray(value)) {
      value.forEach((item: unknown, place) => this.define(item, [...path, place]));
    } else if (isRecord(value)) {
      for (const [name, inner] of Object.entries(value)) {
        const isSample = samples.has(name) && !isRecord(inner);
        if (isSample || (words.has(name) && typeof inner === 'string'))
          this.sayAll(inner, [...path, name], definition);
        else if (naming.has(name) && isRecord(inner)) this.defineNamed(inner, [...path, name]);
        else this.define(inner, [...path, name]);
      }
    }
  }

  private defineNamed(schemas: Readonly<Record<string, unknown>>, path: Path): void {
    for (const [name, schema] of Object.entries(schemas)) {
      this.add(name, [...path, name], definition, 'name');
      this.define(schema, [...path, name]);
    }
  }

  private sayBlock(block: Readonly<Record<string, unknown>>, path: Path, outer: Speaker): void {
    const { type, role, thinking, signature } = block;
    if (typeof thinking === 'string' && typeof signature === 'string' && signature !== '')
      return this.add(thinking, path, assistant, 'signed');
    const speaker = (typeof role === 'string' ? speakers[role] : speakerOf(type)) ?? outer;
    for (const [name, value] of Object.entries(block)) {
      const inner = [...path, name];
      if (name === 'source' && isRecord(value)) this.saySource(value, inner, speaker);
      else if (path[0] === 'documents') this.sayAll(value, inner, speaker);
      else if (name === 'variables' && isRecord(value)) this.sayVariables(value, inner, speaker);
      else if (isMark(name)) continue;
      else if (name === 'tools') this.define(value, inner);
      else if (isOfCall(name, value)) this.addCall(value, inner);
      else
        this.say(
          value,
          inner,
          name === 'output' || name === 'outputs' || name === 'results' ? result : speaker,
        );
    }
  }

  private saySource(source: Readonly<Record<string, unknown>>, path: Path, speaker: Speaker): void {
    if (source.type === 'text') this.say(source.data, [...path, 'data'], speaker);
    else this.say(source.content, [...path, 'content'], speaker);
  }

  /** Their names are the caller's own. */
  private sayVariables(variables: Readonly<Record<string, unknown>>, path: Path, speaker: Speaker): void {
    for (const [name, value] of Object.entries(variables)) this.say(value, [...path, name], speaker);
  }

  private sayAll(value: unknown, path: Path, speaker: Speaker): void {
    if (typeof value === 'string') this.add(value, path, speaker);
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value))
        this.sayAll(inner, [...path, Array.isArray(value) ? Number(name) : name], speaker);
  }

  private addCall(value: unknown, path: Path): void {
    if (typeof value === 'string') this.add(unescapedJson(value), path, called);
    else this.add(unescapedJson(this.jsonOf(value, path)), path, called, 'json');
  }

  private jsonOf(value: unknown, path: Path): string {
    const [place] = this.written === null ? [] : findMembers(this.written, ...path);
    if (place === undefined) return JSON.stringify(value);
    return this.written!.toString('utf8', place.start, place.end);
  }

  private add(text: string, path: Path, { role, kind }: Speaker, as: PlacedText['as'] = 'text'): void {
    if (text !== '') this.found.push({ piece: Object.freeze({ role, kind, text }), path, as });
  }
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/g;

/**
 * JSON with the characters that it wrote as `\uXXXX`, so that a gate finds a word however it was escaped. What has to be
 * escaped stays so, and text that is no JSON is returned as it is.
 */
function unescapedJson(text: string): string {
  if (!/\\[u/]/.test(text) || !isJson(text)) return text;
  return text.replaceAll(ESCAPE, (whole: string, hex?: string, mark?: string) => {
    if (mark === '/') return '/';
    if (hex === undefined) return whole;
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return mustStayEscaped(character) ? whole : character;
  });
}

/** JSON needs quotes, backslashes and control characters escaped; halves of a surrogate pair are no characters. */
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

/** Who speaks in a block that names no role; undefined where the one around it does. */
function speakerOf(type: unknown): Speaker | undefined {
  if (typeof type !== 'string') return undefined;
  if (type.endsWith('tool_result') || type.endsWith('_output')) return result;
  return type === 'reasoning' || type.endsWith('_call') || type.endsWith('tool_use') ? assistant : undefined;
}

/** What a tool is called with: a text or an object, under one of these names. */
const isOfCall = (name: string, value: unknown): boolean =>
  (name === 'arguments' || name === 'input' || name === 'action' || name === 'operation') &&
  (typeof value === 'string' || isRecord(value));
