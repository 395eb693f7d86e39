import { Injectable } from '@nestjs/common';
import { parseJsonText } from '../../kernel';
import { packSealed, SecretBox, type SecretPlace, unpackSealed } from '../../platform';
import type { DialectName } from '../../protocol';

type Field = 'request' | 'answer';

/** What was asked, as it is asked again. */
export interface RequestContent {
  readonly surface: DialectName;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a model said, and later why it was scored as it was. */
export interface AnswerContent {
  readonly text: string;
  readonly rationale?: string;
}

/** Texts of samples are encrypted for their own request: they open in no other row. */
@Injectable()
export class SampleContent {
  constructor(private readonly box: SecretBox) {}

  sealRequest(requestId: string, content: RequestContent): Buffer {
    return this.seal(requestId, 'request', content);
  }

  sealAnswer(requestId: string, content: AnswerContent): Buffer {
    return this.seal(requestId, 'answer', content);
  }

  /** Null where the master key is not at hand: nothing can be judged then, and nothing is invented. */
  openRequest(requestId: string, packed: Buffer): RequestContent | null {
    return this.open(requestId, 'request', packed) as RequestContent | null;
  }

  openAnswer(requestId: string, packed: Buffer): AnswerContent | null {
    return this.open(requestId, 'answer', packed) as AnswerContent | null;
  }

  private seal(requestId: string, field: Field, content: object): Buffer {
    return packSealed(this.box.seal(JSON.stringify(content), placeOf(requestId, field)));
  }

  private open(requestId: string, field: Field, packed: Buffer): unknown {
    const opened = this.box.open(unpackSealed(packed), placeOf(requestId, field));
    return opened.ok ? parseJsonText(opened.value) : null;
  }
}

const placeOf = (requestId: string, field: Field): SecretPlace => ({
  table: 'quality_sample',
  row: requestId,
  field,
  host: '',
});
