/* dashboard.h - the bytes of dashboard.html. */
#ifndef ADMIN_DASHBOARD_H
#define ADMIN_DASHBOARD_H

extern const char dashboard_html[], dashboard_html_end[];

#endif
