import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Handlebars from 'handlebars';
import { create } from 'hbs';
import { createAssetResolver } from './assets';
import { parseExtensionTemplate } from './extension-views';
import { extensionViewName } from './load-extension-views';
import { PageForms } from './forms';
import { createHelpers } from './helpers';
import type { RenderData } from './render-data';
import { splitLayout, templateName, partialsPrefix, readTemplates } from './templates';
import { loadTranslations } from './translations';
import { defaultViewContext, type ViewContext } from './view-context';
import type { ExpressRender, ViewEngine, ViewEngineOptions } from './view-engine';

/*
 * Templates are written by these rules.
 *
 * - A view names its layout in its first line: `{{!< dashboard}}` puts it into
 *   views/layouts/dashboard.hbs, which may name a layout of its own in the same
 *   way. A layout prints the view at `{{@body}}`, and named pieces that the view
 *   set with `{{#section "title"}}…{{/section}}` at `{{@sections.title}}`.
 * - A partial is a component. It takes one object, `{{> badge status}}` or
 *   `{{> badge (object tone="ok" label=(t "…"))}}`; one that wraps content takes
 *   named values, `{{#> card heading="…"}}…{{/card}}`.
 * - A form is `{{#form action="…"}}…{{/form}}`, and a control takes what was typed,
 *   what is wrong and what its field takes from `{{#with (control …)}}`; see form-helpers.ts.
 * - `@view` is the ViewContext. Models are plain objects: Handlebars refuses
 *   inherited properties, and a misspelt helper does not compile.
 */

interface LoadedView {
  layout?: string;
  run: Handlebars.TemplateDelegate;
}

interface ExpressLocals extends Record<string, unknown> {
  viewContext?: ViewContext;
}

function loadViews(options: ViewEngineOptions): Map<string, LoadedView> {
  // A separate Handlebars instance per engine: the module's singleton would leak helpers between applications.
  const hbs = create(Handlebars.create());
  const helpers = createHelpers(createAssetResolver(options.publicFolder));
  hbs.registerHelper(helpers);
  const compileOptions: CompileOptions = {
    knownHelpers: Object.fromEntries(Object.keys(helpers).map((name) => [name, true])),
    knownHelpersOnly: true,
    preventIndent: true,
  };
  const views = new Map<string, LoadedView>();
  for (const [name, source] of readTemplates(options.viewsFolder)) {
    const { layout, body } = splitLayout(source);
    const run = hbs.handlebars.compile(body, compileOptions);
    if (name.startsWith(partialsPrefix)) hbs.registerPartial(name.slice(partialsPrefix.length), run);
    else views.set(name, { layout, run });
  }
  for (const { id, viewsFolder } of options.extensions ?? []) {
    for (const [name, source] of viewsFolder === null ? [] : readTemplates(viewsFolder)) {
      const { layout, body } = splitLayout(source);
      const run = hbs.handlebars.compile(parseExtensionTemplate(id, body).program, compileOptions);
      if (name.startsWith(partialsPrefix))
        hbs.registerPartial(`${id}/${name.slice(partialsPrefix.length)}`, run);
      else views.set(extensionViewName(id, name), { layout, run });
    }
  }
  return views;
}

const watchedFolders = ({ viewsFolder, publicFolder, extensions = [] }: ViewEngineOptions): string[] => [
  viewsFolder,
  publicFolder,
  ...extensions.flatMap((extension) => extension.viewsFolder ?? []),
];

/** Fingerprint of the files; differs after one was added, changed or removed. */
function fingerprint(folders: readonly string[]): string {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return files.map((path) => `${path} ${statSync(path, { throwIfNoEntry: false })?.mtimeMs}`).join('\n');
}

export async function createTemplateEngine(options: ViewEngineOptions): Promise<ViewEngine> {
  const translations = await loadTranslations(options.localesFolder, options.extensions);
  // Loaded with the first page, as a service can run for a long time before someone opens one.
  let views: Map<string, LoadedView> | undefined;
  let loadedState: string | undefined;

  const discardStaleViews = (): void => {
    const state = fingerprint(watchedFolders(options));
    if (state !== loadedState) views = undefined;
    loadedState = state;
  };

  const getView = (name: string): LoadedView => {
    views ??= loadViews(options);
    const view = views.get(name);
    if (!view) throw new Error(`There is no view named "${name}"`);
    return view;
  };

  const render = (name: string, model: object, context: ViewContext): string => {
    if (!options.cache) discardStaleViews();
    const forms = new PageForms(context.forms);
    const data: RenderData = {
      view: { ...context, brandName: context.brand?.name ?? options.brandName },
      translate: translations(context.locale),
      sections: {},
      forms,
      banner: (model) => (model === null ? '' : getView('fragments/refused-form').run(model, { data })),
    };
    let view = getView(name);
    let html = view.run(model, { data });
    while (view.layout !== undefined && !context.fragment) {
      view = getView(`layouts/${view.layout}`);
      html = view.run(model, { data: { ...data, body: new Handlebars.SafeString(html) } });
    }
    return context.fragment ? data.banner(forms.notice()) + html : html;
  };

  const renderForExpress: ExpressRender = (path, locals, done) => {
    const { viewContext, settings: _settings, _locals, cache: _cache, ...model } = locals as ExpressLocals;
    let html: string;
    try {
      html = render(templateName(options.viewsFolder, path), model, viewContext ?? defaultViewContext());
    } catch (error) {
      done(error);
      return;
    }
    done(null, html);
  };

  return {
    render,
    translator: translations,
    attach(application) {
      application.engine('hbs', renderForExpress);
      application.set('view engine', 'hbs');
      application.set('views', options.viewsFolder);
    },
  };
}
