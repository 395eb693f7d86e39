import { type AttachmentHead, isPicture, type ConversationMessage } from './conversation';
import type { Attachment } from './conversation-messages';

export interface Exchange {
  readonly question: ConversationMessage;
  /** Null for the question to be answered now. */
  readonly answer: ConversationMessage | null;
}

/** The last reply to a question counts; questions without a reply are left out, except for the last question. */
export function exchangesOf(oldestFirst: readonly ConversationMessage[]): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const message of oldestFirst) {
    if (message.role === 'user') exchanges.push({ question: message, answer: null });
    const last = exchanges.at(-1);
    if (message.role === 'assistant' && message.text !== '' && last !== undefined)
      exchanges[exchanges.length - 1] = { ...last, answer: message };
  }
  return exchanges.filter(({ answer }, index) => answer !== null || index === exchanges.length - 1);
}

type ChatContentPart = Readonly<Record<string, unknown>>;

/** Pictures of earlier turns are included as long as they fit into one request. */
const MAX_PICTURE_BYTES = 12 * 1024 * 1024;

export async function chatMessages(
  exchanges: readonly Exchange[],
  takesImages: boolean,
  filesOf: (question: ConversationMessage) => Promise<readonly Attachment[]>,
): Promise<ChatContentPart[]> {
  const turns: ChatContentPart[][] = [];
  let remainingBytes = MAX_PICTURE_BYTES;
  // The newest pictures take precedence.
  for (const [index, { question, answer }] of [...exchanges.entries()].reverse()) {
    const size = question.attachments.filter(isPicture).reduce((sum, { bytes }) => sum + bytes, 0);
    const fits = takesImages && size <= remainingBytes;
    if (fits) remainingBytes -= size;
    const isSent = (file: AttachmentHead): boolean => fits || !isPicture(file);
    const files = question.attachments.some(isSent) ? await filesOf(question) : [];
    const isLast = index === exchanges.length - 1;
    turns.push([
      { role: 'user', content: contentOf(question, files, fits) },
      ...(answer === null || isLast ? [] : [{ role: 'assistant', content: answer.text }]),
    ]);
  }
  return turns.reverse().flat();
}

function contentOf(
  { text, attachments }: ConversationMessage,
  files: readonly Attachment[],
  hasPictures: boolean,
): string | ChatContentPart[] {
  const quotedFiles = files.filter((file) => !isPicture(file)).map(quoteFile);
  const pictures = hasPictures ? files.filter(isPicture) : [];
  const omittedNames = hasPictures ? [] : attachments.filter(isPicture).map(({ name }) => name);
  const texts = [
    ...(text === '' ? [] : [text]),
    ...quotedFiles,
    ...(omittedNames.length === 0 ? [] : [`(Pictures that are not sent along: ${omittedNames.join(', ')})`]),
  ];
  if (pictures.length === 0) return texts.join('\n\n');
  return [
    ...texts.map((part) => ({ type: 'text', text: part })),
    ...pictures.map(({ mediaType, content }) => ({
      type: 'image_url',
      image_url: { url: `data:${mediaType};base64,${content.toString('base64')}` },
    })),
  ];
}

/** Quotes a text file under its name, in a fence longer than any fence in the text. */
function quoteFile({ name, content }: Attachment): string {
  const text = content.toString('utf8').replace(/^\uFEFF/, '');
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${text}\n${fence}`;
}
