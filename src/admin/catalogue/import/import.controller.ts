import { Body, Controller, Get, Header, Param, Req } from '@nestjs/common';
import { fault, validationFault } from '../../../kernel';
import { Access, Action, actorOf, done, type Done, type HttpRequest, Page, wantsPage } from '../../../web';
import { changed, MODELS_PAGE } from '../answers';
import { ImportDesk } from './import-desk.service';
import { ImportDrafts } from './import-drafts.service';
import { ApplyForm, DraftParams, ImportForm } from './import-forms';
import { draftPage, formPage, presentPlan } from './import-page';

const PLATFORM = Access.role('platform_admin');
const IMPORT = `${MODELS_PAGE}/import`;
const FILE_BYTES = 24 * 1024 * 1024;

/** Imports a catalogue file: a preview comes first, then all or some of its changes are applied. */
@Controller()
export class ImportController {
  constructor(
    private readonly desk: ImportDesk,
    private readonly drafts: ImportDrafts,
  ) {}

  /** The whole catalogue in the format that the command line reads. */
  @Get(`${MODELS_PAGE}/export`)
  @PLATFORM
  @Header('content-type', 'application/yaml; charset=utf-8')
  @Header('content-disposition', 'attachment; filename="gateway.yaml"')
  @Header('cache-control', 'no-store')
  export(): Promise<string> {
    return this.desk.export();
  }

  @Page(IMPORT, 'pages/admin/catalogue/import', PLATFORM)
  form() {
    return formPage();
  }

  @Action(IMPORT, PLATFORM, {
    audit: { none: 'a draft changes nothing of the catalogue' },
    bodyLimitBytes: FILE_BYTES,
    takesFiles: true,
  })
  async bring(@Body() form: ImportForm, @Req() request: HttpRequest) {
    const source = form.file?.trim() ? 'file' : 'content';
    const content = form[source] ?? '';
    if (content.trim() === '')
      throw fault('missing_fields', {
        message: 'Bring a file, or its text.',
        details: { required: ['content'] },
      });
    const faults = this.desk.faultsIn({ format: form.format, content });
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
    const id = await this.drafts.keep(userId, { format: form.format, options, content });
    const to = `${IMPORT}/${id}`;
    if (wantsPage(request)) return done(to, {});
    const plan = await this.desk.plan({ id, format: form.format, options, content });
    return { ok: true, draft_id: id, ...presentPlan(plan) };
  }

  @Page(`${IMPORT}/:draft_id`, 'pages/admin/catalogue/import-plan', PLATFORM)
  async show(@Param() { draft_id: id }: DraftParams, @Req() request: HttpRequest) {
    const draft = await this.drafts.read(actorOf(request).userId, id);
    return draftPage(draft, await this.desk.plan(draft));
  }

  @Action(`${IMPORT}/:draft_id/apply`, PLATFORM, { audit: 'catalogue.imported' })
  async apply(
    @Param() { draft_id: id }: DraftParams,
    @Body() form: ApplyForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const { userId } = actorOf(request);
    const draft = await this.drafts.read(userId, id);
    const chosen = form.extent === 'all' ? undefined : new Set(form.row ?? []);
    if (chosen?.size === 0)
      throw fault('missing_fields', { message: 'Choose at least one row.', details: { required: ['row'] } });
    const applied = await this.desk.apply(draft, { userId, shown: form.shown, ...(chosen && { chosen }) });
    return changed(
      {},
      {
        text: 'catalogue.done.imported',
        values: { count: applied },
        facts: { ok: true, applied },
        to: `${IMPORT}/${id}`,
      },
    );
  }
}
