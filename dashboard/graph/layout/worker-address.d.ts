/** The address of the thread's module; scripts/bundle-dashboard.mjs puts it in. */
declare const __LAYOUT_WORKER__: string
