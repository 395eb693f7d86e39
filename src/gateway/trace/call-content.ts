import type { TextPiece } from '#extension';
import type { JsonFields } from '../../kernel';
import { ATTRIBUTE, type Conventions, type OpenSpan } from '../../platform';
import { isText, type GatewayOperation } from '../operations/operation';
import { TracedAnswer } from './traced-answer';
import { type LimitedJson, limitMessages, limitParts } from './content-limit';
import { type ContentForModel, contentForModel } from './content-messages';
import { OWN_ATTRIBUTE } from './own-attributes';

export interface TracedRequest {
  readonly body: JsonFields;
  readonly choices: number;
  readonly texts: () => readonly TextPiece[];
}

/** Request and response content for the spans of its attempts, if the organisation allows it. */
export class CallContent {
  private readonly requestContent: readonly (readonly [attribute: string, value: LimitedJson])[];
  readonly answer: TracedAnswer | null;

  constructor(
    operation: GatewayOperation,
    { body, choices, texts }: TracedRequest,
    private readonly maxBytes: number,
  ) {
    const content = contentForModel(operation, body, texts);
    this.requestContent = content === null ? [] : requestAttributes(content, maxBytes);
    this.answer = isText(operation) ? new TracedAnswer(operation, maxBytes, choices) : null;
  }

  addRequest(span: OpenSpan): void {
    for (const [attribute, { json }] of this.requestContent) span.set(attribute, json);
  }

  /** `answered` is null for an attempt whose response the caller did not get. */
  addResponse(span: OpenSpan, answered: { readonly conventions: Conventions } | null): void {
    const cut = this.requestContent.filter(([, { isCut }]) => isCut).map(([attribute]) => attribute);
    const { answer } = this;
    if (answer !== null && answered !== null) {
      const messages = answer.messages(answered.conventions.hasFinishReason);
      const { json, isCut } = limitMessages(messages, this.maxBytes, 'first');
      if (messages.length > 0) span.set(ATTRIBUTE.outputMessages, json);
      if (isCut || answer.isCut) cut.push(ATTRIBUTE.outputMessages);
    }
    if (cut.length > 0) span.set(OWN_ATTRIBUTE.truncated, cut);
  }
}

function requestAttributes({ messages, instructions, tools }: ContentForModel, maxBytes: number) {
  const attributes = [
    [ATTRIBUTE.instructions, limitParts(instructions, maxBytes)],
    [ATTRIBUTE.tools, limitParts(tools, maxBytes)],
    [ATTRIBUTE.inputMessages, limitMessages(messages, maxBytes, 'last')],
  ] as const;
  return attributes.filter(([, { json, isCut }]) => isCut || json !== '[]');
}
