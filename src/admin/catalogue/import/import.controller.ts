import { Body, Controller, Get, Header, Param, Req } from '@nestjs/common';
import { fault, validationFault } from '../../../kernel';
import {
  Access,
  Action,
  actorOf,
  done,
  type ActionResult,
  type HttpRequest,
  Page,
  wantsPage,
} from '../../../web';
import { respondWithChange, MODELS_PAGE } from '../change-response';
import { ImportService } from './import.service';
import { ImportDrafts } from './import-drafts.service';
import { ApplyForm, DraftParams, ImportForm } from './import.dto';
import { draftPage, formPage, presentPlan } from './import-page';

const PLATFORM = Access.role('platform_admin');
const IMPORT_PATH = `${MODELS_PAGE}/import`;
const MAX_FILE_BYTES = 24 * 1024 * 1024;

@Controller()
export class ImportController {
  constructor(
    private readonly imports: ImportService,
    private readonly drafts: ImportDrafts,
  ) {}

  @Get(`${MODELS_PAGE}/export`)
  @PLATFORM
  @Header('content-type', 'application/yaml; charset=utf-8')
  @Header('content-disposition', 'attachment; filename="gateway.yaml"')
  @Header('cache-control', 'no-store')
  export(): Promise<string> {
    return this.imports.export();
  }

  @Page(IMPORT_PATH, 'pages/admin/catalogue/import', PLATFORM)
  form() {
    return formPage();
  }

  @Action(IMPORT_PATH, PLATFORM, {
    audit: { none: 'a draft changes nothing of the catalogue' },
    bodyLimitBytes: MAX_FILE_BYTES,
    takesFiles: true,
  })
  async upload(@Body() form: ImportForm, @Req() request: HttpRequest) {
    const source = form.file?.trim() ? 'file' : 'content';
    const content = form[source] ?? '';
    if (content.trim() === '')
      throw fault('missing_fields', {
        message: 'Bring a file, or its text.',
        details: { required: ['content'] },
      });
    const faults = this.imports.findFaults({ format: form.format, content });
    if (faults.length > 0)
      throw validationFault(
        faults.map(({ path, line, problem }) => ({
          loc: ['body', source, line],
          msg: `${line}: ${path === '' ? '' : `${path}: `}${problem}`,
          type: 'file',
        })),
      );
    const { providers = [], only = [], overwrite = false } = form;
    const options = { providers, only, overwrite };
    const { userId } = actorOf(request);
    const id = await this.drafts.save(userId, { format: form.format, options, content });
    const to = `${IMPORT_PATH}/${id}`;
    if (wantsPage(request)) return done(to, {});
    const plan = await this.imports.plan({ id, format: form.format, options, content });
    return { ok: true, draft_id: id, ...presentPlan(plan) };
  }

  @Page(`${IMPORT_PATH}/:draft_id`, 'pages/admin/catalogue/import-plan', PLATFORM)
  async show(@Param() { draft_id: id }: DraftParams, @Req() request: HttpRequest) {
    const draft = await this.drafts.get(actorOf(request).userId, id);
    return draftPage(draft, await this.imports.plan(draft));
  }

  @Action(`${IMPORT_PATH}/:draft_id/apply`, PLATFORM, { audit: 'catalogue.imported' })
  async apply(
    @Param() { draft_id: id }: DraftParams,
    @Body() form: ApplyForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const { userId } = actorOf(request);
    const draft = await this.drafts.get(userId, id);
    const chosenRows = form.extent === 'all' ? undefined : new Set(form.row ?? []);
    if (chosenRows?.size === 0)
      throw fault('missing_fields', { message: 'Choose at least one row.', details: { required: ['row'] } });
    const applied = await this.imports.apply(draft, {
      userId,
      shown: form.shown,
      ...(chosenRows && { chosen: chosenRows }),
    });
    return respondWithChange(
      {},
      {
        text: 'catalogue.done.imported',
        values: { count: applied },
        body: { ok: true, applied },
        to: `${IMPORT_PATH}/${id}`,
      },
    );
  }
}
