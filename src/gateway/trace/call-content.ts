import type { TextPiece } from '#extension';
import type { JsonFields } from '../../kernel';
import { ATTRIBUTE, type Conventions, type OpenSpan } from '../../platform';
import { isText, type Operation } from '../operations/operation';
import { AnswerContent } from './answer-content';
import { type Bounded, boundedMessages, boundedParts } from './content-limit';
import { type SaidToModel, saidToModel } from './content-messages';
import { OWN } from './own-names';

/** A request as gates left it. */
export interface AskedContent {
  readonly body: JsonFields;
  readonly choices: number;
  readonly texts: () => readonly TextPiece[];
}

/** What a request asks and gets, for the spans of its tries. There is none unless its organisation wants it. */
export class CallContent {
  private readonly asked: readonly (readonly [attribute: string, value: Bounded])[];
  readonly answer: AnswerContent | null;

  constructor(
    operation: Operation,
    { body, choices, texts }: AskedContent,
    private readonly most: number,
  ) {
    const said = saidToModel(operation, body, texts);
    this.asked = said === null ? [] : requestAttributes(said, most);
    this.answer = isText(operation) ? new AnswerContent(operation, most, choices) : null;
  }

  tellRequest(span: OpenSpan): void {
    for (const [attribute, { json }] of this.asked) span.set(attribute, json);
  }

  /** `answered` is null for a try whose answer the caller did not get. */
  tellRest(span: OpenSpan, answered: { readonly conventions: Conventions } | null): void {
    const cut = this.asked.filter(([, { isCut }]) => isCut).map(([attribute]) => attribute);
    const { answer } = this;
    if (answer !== null && answered !== null) {
      const messages = answer.messages(answered.conventions.tellsFinish);
      const { json, isCut } = boundedMessages(messages, this.most, 'first');
      if (messages.length > 0) span.set(ATTRIBUTE.outputMessages, json);
      if (isCut || answer.isCut) cut.push(ATTRIBUTE.outputMessages);
    }
    if (cut.length > 0) span.set(OWN.truncated, cut);
  }
}

function requestAttributes({ messages, instructions, tools }: SaidToModel, most: number) {
  const all = [
    [ATTRIBUTE.instructions, boundedParts(instructions, most)],
    [ATTRIBUTE.tools, boundedParts(tools, most)],
    [ATTRIBUTE.inputMessages, boundedMessages(messages, most, 'last')],
  ] as const;
  return all.filter(([, { json, isCut }]) => isCut || json !== '[]');
}
