/** Types of the used part of hbs, which ships none. */
declare module 'hbs' {
  import type Handlebars from 'handlebars';

  export interface Instance {
    readonly handlebars: typeof Handlebars;
    registerHelper(helpers: Record<string, Handlebars.HelperDelegate>): void;
    registerPartial(name: string, partial: Handlebars.TemplateDelegate): void;
  }
  export function create(handlebars: typeof Handlebars): Instance;
}
