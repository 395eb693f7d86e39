import type { ViewEngine, ViewEngineOptions } from './view-engine';

/** Loads templates and their packages lazily, as a node without pages needs none of them. */
export async function createViewEngine(options: ViewEngineOptions): Promise<ViewEngine> {
  const { createTemplateEngine } = await import('./template-engine.js');
  return createTemplateEngine(options);
}

/** View engine of a node without pages; every call throws. */
export const noViewEngine = (): ViewEngine => {
  const throwNoPages = (): never => {
    throw new Error('this node serves no pages');
  };
  return { render: throwNoPages, translator: throwNoPages, attach: throwNoPages };
};
