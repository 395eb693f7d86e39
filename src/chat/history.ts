import { type AttachmentHead, isPicture, type Message } from './conversation';
import type { Attachment } from './conversation-messages';

/** Questions and answers that still count, in the order in which they were said. */
export interface Exchange {
  readonly question: Message;
  /** It is null for the one that is to be answered now. */
  readonly answer: Message | null;
}

/** The last answer to a question counts; questions without any are left out, but for the last one. */
export function exchangesOf(oldestFirst: readonly Message[]): Exchange[] {
  const said: Exchange[] = [];
  for (const message of oldestFirst) {
    if (message.role === 'user') said.push({ question: message, answer: null });
    const last = said.at(-1);
    if (message.role === 'assistant' && message.text !== '' && last !== undefined)
      said[said.length - 1] = { ...last, answer: message };
  }
  return said.filter(({ answer }, at) => answer !== null || at === said.length - 1);
}

type Part = Readonly<Record<string, unknown>>;

/** Pictures of earlier turns go along as long as they fit into one request. */
const MOST_PICTURE_BYTES = 12 * 1024 * 1024;

/** The conversation in the chat dialect; `filesOf` reads the files of a question. */
export async function chatMessages(
  said: readonly Exchange[],
  takesImages: boolean,
  filesOf: (question: Message) => Promise<readonly Attachment[]>,
): Promise<Part[]> {
  const turns: Part[][] = [];
  let room = MOST_PICTURE_BYTES;
  // The newest pictures first: those are what is being talked about.
  for (const [at, { question, answer }] of [...said.entries()].reverse()) {
    const size = question.attachments.filter(isPicture).reduce((sum, { bytes }) => sum + bytes, 0);
    const fits = takesImages && size <= room;
    if (fits) room -= size;
    const isSent = (file: AttachmentHead): boolean => fits || !isPicture(file);
    const files = question.attachments.some(isSent) ? await filesOf(question) : [];
    const isLast = at === said.length - 1;
    turns.push([
      { role: 'user', content: contentOf(question, files, fits) },
      ...(answer === null || isLast ? [] : [{ role: 'assistant', content: answer.text }]),
    ]);
  }
  return turns.reverse().flat();
}

function contentOf(
  { text, attachments }: Message,
  files: readonly Attachment[],
  hasPictures: boolean,
): string | Part[] {
  const texts = files.filter((file) => !isPicture(file)).map(quoted);
  const pictures = hasPictures ? files.filter(isPicture) : [];
  const missing = hasPictures ? [] : attachments.filter(isPicture).map(({ name }) => name);
  const said = [
    ...(text === '' ? [] : [text]),
    ...texts,
    ...(missing.length === 0 ? [] : [`(Pictures that are not sent along: ${missing.join(', ')})`]),
  ];
  if (pictures.length === 0) return said.join('\n\n');
  return [
    ...said.map((part) => ({ type: 'text', text: part })),
    ...pictures.map(({ mediaType, content }) => ({
      type: 'image_url',
      image_url: { url: `data:${mediaType};base64,${content.toString('base64')}` },
    })),
  ];
}

/** A text file as people paste one: under its name, in a fence that is longer than any inside. */
function quoted({ name, content }: Attachment): string {
  const text = content.toString('utf8').replace(/^\uFEFF/, '');
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${text}\n${fence}`;
}
