import { Injectable } from '@nestjs/common';
import { parseJsonText } from '../../kernel';
import {
  Database,
  packSealed,
  type Row,
  type SealedColumn,
  SecretBox,
  type SecretPlace,
  unpackSealed,
} from '../../platform';
import type { DialectName } from '../../protocol';

type Field = 'request' | 'answer';

/** A request is asked again with this content. */
export interface RequestContent {
  readonly surface: DialectName;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A model said this, and the score gets its reason later. */
export interface AnswerContent {
  readonly text: string;
  readonly rationale?: string;
}

export interface KeptContent {
  readonly request: RequestContent;
  /** Each is found by the model that gave it. */
  readonly answers: ReadonlyMap<string, AnswerContent>;
}

/** Texts of samples are encrypted for their own request: they open in no other row. */
@Injectable()
export class SampleContent {
  constructor(
    private readonly box: SecretBox,
    private readonly database: Database,
  ) {}

  /** The kept content of a request that was evaluated is null where there is none, or where it cannot be read. */
  async of(requestId: string): Promise<KeptContent | null> {
    const rows = await this.database.query<
      Row<'quality_score', 'model, content'> & { readonly request: Buffer }
    >(
      `SELECT q.content AS request, s.model, s.content
         FROM quality_sample q JOIN quality_score s USING (request_id)
        WHERE q.request_id = $1 AND q.state = 'learned' AND q.content IS NOT NULL AND q.content_until > now()`,
      [requestId],
    );
    const request = rows[0] === undefined ? null : this.openRequest(requestId, rows[0].request);
    if (request === null) return null;
    const answers = rows.flatMap(({ model, content }) => {
      const opened = content === null ? null : this.openAnswer(requestId, content);
      return opened === null ? [] : [[model, opened] as const];
    });
    return { request, answers: new Map(answers) };
  }

  /** Texts of these requests are kept until then; it holds only those whose texts are there. */
  async keptUntil(requestIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    if (requestIds.length === 0) return new Map();
    const rows = await this.database.rows<
      Row<'quality_sample', 'request_id'> & { readonly contentUntil: Date }
    >(
      `SELECT request_id, content_until FROM quality_sample
        WHERE request_id = ANY ($1::uuid[]) AND content IS NOT NULL AND content_until > now()`,
      [requestIds],
    );
    return new Map(rows.map(({ requestId, contentUntil }) => [requestId, contentUntil]));
  }

  sealRequest(requestId: string, content: RequestContent): Buffer {
    return this.seal(requestId, 'request', content);
  }

  sealAnswer(requestId: string, content: AnswerContent): Buffer {
    return this.seal(requestId, 'answer', content);
  }

  /** It is null where the master key is not at hand: nothing can be judged then, and nothing is invented. */
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

const within = (field: Field): SealedColumn['place'] => ({
  table: 'quality_sample',
  field,
  row: 't.request_id::text',
});

/** A change of the master key seals these anew. */
export const sealedSamples: readonly SealedColumn[] = [
  { table: 'quality_sample', column: 'content', place: within('request') },
  { table: 'quality_score', column: 'content', place: within('answer') },
];
