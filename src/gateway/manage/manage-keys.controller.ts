import type { ServerResponse } from 'node:http';
import { Controller, Delete, Get, HttpCode, Param, Patch, Post, Req, Res } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import {
  type Caller,
  KeyDirectory,
  KeyRegister,
  KeysService,
  type ManagedKey,
  shownStatuses,
} from '../../keys';
import { Database, Settings, type Tx } from '../../platform';
import { Access, type HttpRequest, queryOf } from '../../web';
import { callerOf } from '../caller-of';
import { objectCodec } from '../idempotency/codecs';
import { Idempotency } from '../idempotency/idempotency';
import { readJsonBody } from '../read-json-body';
import { choiceField, textField, wholeNumberField } from './fields';
import { type NewKeyForm, readGrace, readKeyChanges, readNewKey } from './key-form';
import { presentIssued, presentKey, presentRotated } from './key-presenter';

const USUAL_PAGE = 20;
const LONGEST_PAGE = 100;

/** Keys, managed with the root key. */
@Controller('/v1/manage/keys')
@Access.rootKey()
export class ManageKeysController {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly register: KeyRegister,
    private readonly directory: KeyDirectory,
    private readonly catalogue: CatalogueService,
    private readonly settings: Settings,
    private readonly idempotency: Idempotency,
  ) {}

  @Post()
  @HttpCode(200)
  async create(
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<object> {
    const { bytes, body } = await readJsonBody(request, this.settings.portalBodyLimitBytes);
    const form = readNewKey(body, this.catalogue.snapshot);
    const caller = callerOf(request);
    const { requestId, headers } = request;
    const asked = { requestId, caller, headers, bytes, form: null };
    const made = await this.idempotency.once(asked, 'manage/keys', objectCodec, () =>
      this.issue(form, caller),
    );
    if (made.headers !== undefined) response.setHeaders(new Map(Object.entries(made.headers)));
    return made.answer;
  }

  @Get()
  async list(@Req() request: HttpRequest): Promise<object> {
    const query = queryOf(request);
    const status = query.get('status');
    const name = query.get('name');
    const { keys, hasMore } = await this.register.list({
      limit: wholeNumberField(query.get('limit') ?? USUAL_PAGE, 'limit', 1, LONGEST_PAGE),
      after: query.get('cursor'),
      status: status === null ? null : choiceField(status, 'status', shownStatuses),
      name: name === null ? null : textField(name, 'name', 200),
    });
    return {
      object: 'list',
      data: keys.map(presentKey),
      has_more: hasMore,
      first_id: keys[0]?.publicId ?? null,
      last_id: keys.at(-1)?.publicId ?? null,
    };
  }

  @Get(':key_id')
  async read(@Param('key_id') keyId: string): Promise<object> {
    return presentKey(await this.register.get(keyId));
  }

  @Patch(':key_id')
  async change(@Param('key_id') keyId: string, @Req() request: HttpRequest): Promise<object> {
    const { body } = await readJsonBody(request, this.settings.portalBodyLimitBytes);
    const changes = readKeyChanges(body, this.catalogue.snapshot);
    return this.changed(keyId, (tx) => this.keys.change(tx, keyId, changes));
  }

  @Delete(':key_id')
  async revoke(@Param('key_id') keyId: string): Promise<object> {
    return this.changed(keyId, (tx) => this.keys.revoke(tx, keyId));
  }

  @Post(':key_id/rotate')
  @HttpCode(200)
  async rotate(@Param('key_id') keyId: string, @Req() request: HttpRequest): Promise<object> {
    const hasBody =
      request.headers['transfer-encoding'] !== undefined ||
      Number(request.headers['content-length'] ?? 0) > 0;
    const { body } = hasBody ? await readJsonBody(request, this.settings.portalBodyLimitBytes) : { body: {} };
    const grace = readGrace(body);
    const key = await this.database.transaction((tx) => this.keys.rotate(tx, keyId, grace));
    this.directory.forget({ what: 'key', id: key.id });
    return presentRotated(key);
  }

  private async issue(form: NewKeyForm, { publicId }: Caller): Promise<object> {
    const { userId, organisationId, departmentId, projectId } = form;
    const anybodys = [userId, organisationId, departmentId, projectId].every((id) => id === null);
    const key = await this.database.transaction(async (tx) =>
      this.keys.issue(tx, {
        ...form,
        ...(anybodys ? await this.keys.usualOwner(tx) : {}),
        kind: 'client',
        createdBy: `root key ${publicId}`,
      }),
    );
    return presentIssued(key, form.name);
  }

  /** When the answer is out, this node already goes by it. */
  private async changed(keyId: string, change: (tx: Tx) => Promise<void>): Promise<object> {
    const key = await this.database.transaction(async (tx): Promise<ManagedKey> => {
      await change(tx);
      return this.register.get(keyId, tx);
    });
    this.directory.forget({ what: 'key', id: key.id });
    return presentKey(key);
  }
}
