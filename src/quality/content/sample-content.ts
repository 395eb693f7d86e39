import { Injectable } from '@nestjs/common';
import { parseJsonText } from '../../kernel';
import {
  Database,
  packSealed,
  type TableRow,
  type SealedColumn,
  SecretBox,
  type SecretLocation,
  unpackSealed,
} from '../../platform';
import type { DialectName } from '../../protocol';

type ContentField = 'request' | 'answer';

export interface RequestContent {
  readonly surface: DialectName;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ReplyContent {
  readonly text: string;
  readonly rationale?: string;
}

export interface StoredContent {
  readonly request: RequestContent;
  /** By the model that replied. */
  readonly answers: ReadonlyMap<string, ReplyContent>;
}

/** Texts of samples, encrypted for their own request: they cannot be opened in another row. */
@Injectable()
export class SampleContent {
  constructor(
    private readonly box: SecretBox,
    private readonly database: Database,
  ) {}

  /** Returns the stored content of an evaluated request; null if there is none, or if it cannot be read. */
  async find(requestId: string): Promise<StoredContent | null> {
    const rows = await this.database.query<
      TableRow<'quality_score', 'model, content'> & { readonly request: Buffer }
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

  /** Returns until when the texts of these requests are stored; requests without texts are left out. */
  async findRetention(requestIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    if (requestIds.length === 0) return new Map();
    const rows = await this.database.rows<
      TableRow<'quality_sample', 'request_id'> & { readonly contentUntil: Date }
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

  sealAnswer(requestId: string, content: ReplyContent): Buffer {
    return this.seal(requestId, 'answer', content);
  }

  /** Returns null if the master key is not available; nothing can be judged then. */
  openRequest(requestId: string, packed: Buffer): RequestContent | null {
    return this.open(requestId, 'request', packed) as RequestContent | null;
  }

  openAnswer(requestId: string, packed: Buffer): ReplyContent | null {
    return this.open(requestId, 'answer', packed) as ReplyContent | null;
  }

  private seal(requestId: string, field: ContentField, content: object): Buffer {
    return packSealed(this.box.seal(JSON.stringify(content), secretPlaceOf(requestId, field)));
  }

  private open(requestId: string, field: ContentField, packed: Buffer): unknown {
    const opened = this.box.open(unpackSealed(packed), secretPlaceOf(requestId, field));
    return opened.ok ? parseJsonText(opened.value) : null;
  }
}

const secretPlaceOf = (requestId: string, field: ContentField): SecretLocation => ({
  table: 'quality_sample',
  row: requestId,
  field,
  host: '',
});

const columnPlaceOf = (field: ContentField): SealedColumn['place'] => ({
  table: 'quality_sample',
  field,
  row: 't.request_id::text',
});

/** Columns that are sealed again when the master key changes. */
export const sealedSamples: readonly SealedColumn[] = [
  { table: 'quality_sample', column: 'content', place: columnPlaceOf('request') },
  { table: 'quality_score', column: 'content', place: columnPlaceOf('answer') },
];
