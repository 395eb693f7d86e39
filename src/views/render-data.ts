import Handlebars, { type HelperOptions, type SafeString } from 'handlebars';
import type { Banner, PageForms, PrintedForm } from './forms';
import type { Translate } from './translations';
import type { ViewContext } from './view-context';

/** Data that the engine passes to helpers through Handlebars' data frame. */
export interface RenderData {
  view: ViewContext & { brandName: string };
  translate: Translate;
  /** Named pieces of markup that a view passes to its layouts, such as the title. */
  sections: Record<string, SafeString>;
  body?: SafeString;
  forms: PageForms;
  form?: PrintedForm;
  banner(this: void, model: Banner | null): string;
}

export const escape = (text: string): string => Handlebars.escapeExpression(text);
export const safe = (markup: string): SafeString => new Handlebars.SafeString(markup);
export const dataOf = (options: HelperOptions): RenderData => options.data as RenderData;
