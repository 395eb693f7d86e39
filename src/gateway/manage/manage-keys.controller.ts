import type { ServerResponse } from 'node:http';
import {
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Req,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { choiceField, platformScope, textField } from '../../kernel';
import {
  EffectiveLimits,
  KeyManagement,
  KeyRegister,
  type ManagedKey,
  presentIssued,
  presentKey,
  presentRotated,
  readGrace,
  readKeyChanges,
  readNewKey,
  displayStatuses,
} from '../../keys';
import { Settings } from '../../platform';
import {
  Access,
  Audited,
  Idempotency,
  objectCodec,
  OwnWritesInterceptor,
  type HttpRequest,
  pageRequestOf,
  presentPage,
  queryOf,
} from '../../web';
import { callerOf, readJsonBody } from '../intake';

const PAGE_SIZES = { defaultSize: 20, maxSize: 100 };

/** A repeated request, or a change without effect, must not log a second entry. */
const auditedByService = { none: 'KeyManagement writes the entry in the transaction of the change' };

@Controller('/v1/manage/keys')
@Access.rootKey()
@UseInterceptors(OwnWritesInterceptor)
export class ManageKeysController {
  constructor(
    private readonly keys: KeyManagement,
    private readonly register: KeyRegister,
    private readonly effective: EffectiveLimits,
    private readonly catalogue: CatalogueService,
    private readonly settings: Settings,
    private readonly idempotency: Idempotency,
  ) {}

  @Post()
  @HttpCode(200)
  @Audited(auditedByService)
  async create(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const { bytes, body } = await readJsonBody(request, this.settings);
    const form = readNewKey(body, this.catalogue.snapshot);
    const caller = callerOf(request);
    const { requestId, headers } = request;
    const idempotentRequest = { requestId, keyId: caller.keyId, headers, content: () => [bytes] };
    const result = await this.idempotency.once(idempotentRequest, 'manage/keys', objectCodec, async () =>
      presentIssued(await this.keys.create(platformScope, form, `root key ${caller.publicId}`), form.name),
    );
    if (result.headers !== undefined) response.setHeaders(new Map(Object.entries(result.headers)));
    return result.answer;
  }

  @Get()
  async list(@Req() request: HttpRequest) {
    const query = queryOf(request);
    const status = query.get('status');
    const name = query.get('name');
    const page = await this.register.list(platformScope, {
      ...pageRequestOf(query, PAGE_SIZES),
      status: status === null ? null : choiceField(status, 'status', displayStatuses),
      name: name === null ? null : textField(name, 'name', 200),
    });
    return presentPage(page, presentKey, ({ publicId }) => publicId);
  }

  @Get(':key_id')
  async read(@Param('key_id') keyId: string) {
    return this.withEffective(await this.register.get(platformScope, keyId));
  }

  @Patch(':key_id')
  @Audited(auditedByService)
  async change(@Param('key_id') keyId: string, @Req() request: HttpRequest) {
    const { body } = await readJsonBody(request, this.settings);
    const changes = readKeyChanges(body, this.catalogue.snapshot);
    return this.withEffective(await this.keys.change(platformScope, keyId, changes));
  }

  @Delete(':key_id')
  @Audited(auditedByService)
  async revoke(@Param('key_id') keyId: string) {
    return presentKey(await this.keys.revoke(platformScope, keyId));
  }

  @Post(':key_id/rotate')
  @HttpCode(200)
  @Audited(auditedByService)
  async rotate(@Param('key_id') keyId: string, @Req() request: HttpRequest) {
    const hasBody =
      request.headers['transfer-encoding'] !== undefined ||
      Number(request.headers['content-length'] ?? 0) > 0;
    const { body } = hasBody ? await readJsonBody(request, this.settings) : { body: {} };
    const grace = readGrace(body);
    return presentRotated(await this.keys.rotate(platformScope, keyId, grace));
  }

  private async withEffective(key: ManagedKey) {
    return { ...presentKey(key), effective: await this.effective.find(key) };
  }
}
